import type { ApiContext } from "../context.ts";

/** The page runs only its own scripts and calls only this API. Swagger UI has inline styles. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice: the HTTP API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<script defer src="/docs/swagger-ui.js"></script>
<script defer src="/docs/start.js"></script>
</head>
<body>
<div id="docs"></div>
<noscript>This page needs JavaScript. The OpenAPI document is at <a href="/openapi.json">/openapi.json</a>.</noscript>
</body>
</html>
`;

const START = `SwaggerUIBundle({
  url: "/openapi.json",
  domNode: document.getElementById("docs"),
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

/** A page to read the OpenAPI document and try the API. It fetches nothing from other origins. */
export function docsPage(): Response {
  return new Response(PAGE, {
    headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": POLICY },
  });
}

type Assets = Pick<ApiContext, "docsAssets">;

export const docsStart = (): Response => asset("text/javascript", START);
export const docsScript = ({ docsAssets }: Assets): Response => asset("text/javascript", docsAssets.script);
export const docsStyle = ({ docsAssets }: Assets): Response => asset("text/css", docsAssets.style);

function asset(type: string, text: string): Response {
  return new Response(text, {
    headers: { "content-type": `${type}; charset=utf-8`, "cache-control": "public, max-age=3600" },
  });
}
