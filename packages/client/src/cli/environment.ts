import { DEFAULT_URL } from "./cli.ts";

export const ENVIRONMENT_HELP = `Environment:
  SLUICE_URL      where the API is (default ${DEFAULT_URL})
  SLUICE_API_KEY  the key to it
  NO_COLOR        no colors
  NODE_USE_ENV_PROXY=1
                  use the proxies of HTTP_PROXY, HTTPS_PROXY and NO_PROXY (Node 22.21, 24 or newer)`;
