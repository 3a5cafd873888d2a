import { describe, expect, it } from "vitest";
import { BLOCKED_PORTS } from "../src/blocked-ports.ts";
import { DEFAULT_STATE, readSettings } from "../src/settings.ts";

const read = (env: Record<string, string>) => readSettings(env, "/home/me", 60);

/** Sends nothing: the dispatcher fails instead. */
async function isBlocked(port: number): Promise<boolean> {
  const notSent = new Error("not sent");
  const dispatcher = {
    dispatch(_: unknown, handler: { readonly onError: (error: Error) => void }) {
      handler.onError(notSent);
      return true;
    },
  };
  const init = { dispatcher } as unknown as RequestInit;
  const thrown: unknown = await fetch(`http://127.0.0.1:${port}`, init).catch((error: unknown) => error);
  const cause = (thrown as Error).cause as Error;
  if (cause !== notSent) expect(cause.message).toBe("bad port");
  return cause !== notSent;
}

describe("settings", () => {
  it("have defaults, also for empty variables", () => {
    const value = {
      port: 8787,
      state: DEFAULT_STATE,
      tickSeconds: 60,
      localAi: "minilm",
      events: true,
      retention: {},
      apiKey: null,
      maxDatabaseBytes: null,
    };
    expect(read({})).toEqual({ ok: true, value });
    expect(
      read({ SLUICE_PORT: "", SLUICE_STATE: "", SLUICE_LOCAL_AI: "", SLUICE_EVENTS: "", SLUICE_API_KEY: "" }),
    ).toEqual({
      ok: true,
      value,
    });
  });

  it("are read from the environment", () => {
    const env = {
      SLUICE_PORT: "0",
      SLUICE_STATE: "state",
      SLUICE_TICK_SECONDS: "1",
      SLUICE_LOCAL_AI: "instant",
      SLUICE_EVENTS: "off",
      SLUICE_RETAIN_TEXTS_DAYS: "0.01",
      SLUICE_RETAIN_SCORES_DAYS: "365",
      SLUICE_API_KEY: "key",
      SLUICE_MAX_DATABASE_BYTES: "2000000",
    };
    const value = {
      port: 0,
      state: "/home/me/state",
      tickSeconds: 1,
      localAi: "instant",
      events: false,
      retention: { RETAIN_TEXTS_DAYS: "0.01", RETAIN_SCORES_DAYS: "365" },
      apiKey: "key",
      maxDatabaseBytes: 2_000_000,
    };
    expect(read(env)).toEqual({ ok: true, value });
  });

  it.each([
    [{ SLUICE_PORT: "65536" }, "SLUICE_PORT must be a whole number from 0 to 65535"],
    [{ SLUICE_PORT: "80a" }, "SLUICE_PORT must be a whole number from 0 to 65535"],
    [{ SLUICE_PORT: "6000" }, "SLUICE_PORT must not be 6000: fetch and browsers block this port"],
    [{ SLUICE_PORT: "-1" }, "SLUICE_PORT must be a whole number from 0 to 65535"],
    [{ SLUICE_TICK_SECONDS: "0" }, "SLUICE_TICK_SECONDS must be a whole number from 1 to 3600"],
    [{ SLUICE_TICK_SECONDS: "0.5" }, "SLUICE_TICK_SECONDS must be a whole number from 1 to 3600"],
    [{ SLUICE_LOCAL_AI: "gpt" }, "SLUICE_LOCAL_AI must be one of minilm, lexical, instant"],
    [{ SLUICE_EVENTS: "no" }, "SLUICE_EVENTS must be on or off"],
    [{ SLUICE_RETAIN_TEXTS_DAYS: "-1" }, "SLUICE_RETAIN_TEXTS_DAYS must be a number of days from 0 to 36500"],
    [{ SLUICE_RETAIN_HISTORY_DAYS: "1e3" }, "SLUICE_RETAIN_HISTORY_DAYS must be a number of days from 0 to 36500"],
    [{ SLUICE_RETAIN_SCORES_DAYS: "never" }, "SLUICE_RETAIN_SCORES_DAYS must be a number of days from 0 to 36500"],
    [
      { SLUICE_MAX_DATABASE_BYTES: "2 GB" },
      "SLUICE_MAX_DATABASE_BYTES must be a whole number from 1000000 to 10000000000",
    ],
    [{ SLUICE_MAX_DATABASE_BYTES: "10000000001" }, "SLUICE_MAX_DATABASE_BYTES must be a whole number"],
    [{ SLUICE_API_KEY: "with space" }, "SLUICE_API_KEY must be 1 to 256 printable ASCII characters"],
  ])("refuse %j in one line with the allowed values", (env, line) => {
    const settings = read(env);
    expect(settings).toEqual({ ok: false, error: [expect.stringContaining(line)] });
  });

  it("refuse exactly the ports that fetch blocks", async () => {
    const around = [...BLOCKED_PORTS].flatMap((port) => [port - 1, port, port + 1]);
    const ports = [...new Set([...around, 80, 443, 8080, 8787, 65_535])].filter((port) => port > 0);
    const refused = ports.filter((port) => !read({ SLUICE_PORT: String(port) }).ok);
    const blocked: number[] = [];
    for (const port of ports) if (await isBlocked(port)) blocked.push(port);
    expect(refused).toEqual(blocked);
    expect(blocked.toSorted((a, b) => a - b)).toEqual([...BLOCKED_PORTS]);
  });

  it("report all errors at once, and never the key", () => {
    const settings = read({ SLUICE_PORT: "x", SLUICE_LOCAL_AI: "x", SLUICE_API_KEY: "a secret" });
    expect(settings).toMatchObject({ ok: false, error: { length: 3 } });
    expect(JSON.stringify(settings)).not.toContain("secret");
  });
});
