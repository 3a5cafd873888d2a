import { DEFAULT_URL } from "./cli.ts";

export const ENVIRONMENT_HELP = `Environment:
  SLUICE_URL      the URL of the API (default ${DEFAULT_URL})
  SLUICE_API_KEY  the API key
  NO_COLOR        disables colors
  NODE_USE_ENV_PROXY=1
                  uses the proxies in HTTP_PROXY, HTTPS_PROXY and NO_PROXY (Node 22.21, 24 or newer)`;
