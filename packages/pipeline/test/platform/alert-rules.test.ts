import { describe, expect, it } from "vitest";
import { alertChanges, alertName, alertParts, alertsNow, type AlertFacts } from "../../src/platform/alert-rules.ts";

const NOW = 1_000_000_000;
const HOUR = 3_600_000;
const NONE = { count: 0, since: null };
const QUIET: AlertFacts = {
  raised: [],
  faults: [],
  stalled: { ...NONE, documents: 0 },
  quarantined: NONE,
  stuck: NONE,
  size: null,
};
const sized = (level: "normal" | "high" | "pressure" | "full", age: number, raised: readonly string[] = []) => ({
  ...QUIET,
  raised: raised.map((name) => ({ name, since: 5 })),
  size: { level, since: NOW - age, bytes: 9, limit: 10 },
});
const names = (facts: AlertFacts) => alertsNow(facts, NOW).map(({ name }) => name);

describe("the alerts that should be raised", () => {
  it("are none if nothing is wrong", () => {
    expect(alertsNow(QUIET, NOW)).toEqual([]);
    expect(alertsNow(sized("high", 5 * HOUR), NOW)).toEqual([]);
  });

  it("name what began, since when, with figures", () => {
    const facts = {
      ...QUIET,
      faults: [{ scope: "model:@cf/a:b", since: 1 }],
      stalled: { count: 2, documents: 30, since: 2 },
      quarantined: { count: 3, since: 3 },
      stuck: { count: 4, since: 4 },
    };
    expect(alertsNow(facts, NOW)).toEqual([
      { name: "model_paused:@cf/a:b", since: 1, figures: {} },
      { name: "submissions_stalled", since: 2, figures: { submissions: 2, documents: 30 } },
      { name: "messages_quarantined", since: 3, figures: { messages: 3 } },
      { name: "jobs_stuck", since: 4, figures: { jobs: 4 } },
    ]);
    expect(alertParts("model_paused:@cf/a:b")).toEqual({ alert: "model_paused", subject: "@cf/a:b" });
    expect(alertParts(alertName("jobs_stuck"))).toEqual({ alert: "jobs_stuck", subject: null });
  });

  it.each([
    ["pressure", HOUR - 1, []],
    ["pressure", HOUR, ["database_pressure"]],
    ["full", HOUR - 1, []],
    ["full", HOUR, ["database_pressure", "database_full"]],
  ] as const)("of a database at %s for %i ms are %j", (level, age, expected) => {
    expect(names(sized(level, age))).toEqual(expected);
  });

  it("keep an alert of the database while its level changes between pressure and full", () => {
    expect(names(sized("full", 0, ["database_pressure"]))).toEqual(["database_pressure"]);
    expect(names(sized("pressure", 0, ["database_pressure", "database_full"]))).toEqual(["database_pressure"]);
    expect(names(sized("high", 0, ["database_pressure"]))).toEqual([]);
  });
});

it("an alert begins if it is not raised, and ends if it is raised and over", () => {
  const alert = (name: string) => ({ name, since: 7, figures: {} });
  const raised = [
    { name: "a", since: 1 },
    { name: "b", since: 2 },
  ];
  expect(alertChanges(raised, [alert("b"), alert("c")])).toEqual({
    begun: [alert("c")],
    ended: [{ name: "a", since: 1 }],
  });
  expect(alertChanges(raised, [alert("a"), alert("b")])).toEqual({ begun: [], ended: [] });
});
