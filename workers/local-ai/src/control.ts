import type { Store } from "./batches.ts";
import type { Ledger } from "./ledger.ts";
import { NO_FAULTS, parsePlan } from "./plan.ts";

const ROUTES = "POST /plan sets a fault plan, GET /plan shows it, DELETE /plan removes it, GET /calls counts calls";

/** The stand-in's own routes for tests. Workers AI has no such routes. */
export async function control(request: Request, store: Store, ledger: Ledger): Promise<Response> {
  const { pathname } = new URL(request.url);
  switch (`${request.method} ${pathname}`) {
    case "GET /plan":
      return Response.json(await ledger.plan(store));
    case "POST /plan":
      return setPlan(await request.text(), store, ledger);
    case "DELETE /plan":
      await ledger.setPlan(store, null);
      return Response.json(NO_FAULTS);
    case "GET /calls":
      return Response.json(ledger.calls);
    default:
      return Response.json({ error: `no such route: ${ROUTES}` }, { status: 404 });
  }
}

async function setPlan(body: string, store: Store, ledger: Ledger): Promise<Response> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return Response.json({ error: "the plan is not JSON" }, { status: 400 });
  }
  const parsed = parsePlan(value);
  if ("problem" in parsed) return Response.json({ error: parsed.problem }, { status: 400 });
  await ledger.setPlan(store, parsed.plan);
  return Response.json(parsed.plan);
}
