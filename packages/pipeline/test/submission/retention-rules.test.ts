import { describe, expect, it } from "vitest";
import {
  decideAboutTexts,
  passInterval,
  retentionLimits,
  retentionSettings,
  type TextsRow,
} from "../../src/submission/retention-rules.ts";
import { MESSAGE_LIFE_MS } from "../../src/submission/lifetimes.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = 1_790_000_000_000;
const VARIABLES = { RETAIN_TEXTS_DAYS: "7", RETAIN_HISTORY_DAYS: "30", RETAIN_SCORES_DAYS: "" };

describe("retention settings", () => {
  it("are days, which may be fractions; without a number, scores are kept forever", () => {
    expect(retentionSettings(VARIABLES)).toEqual({ texts: 7 * DAY, history: 30 * DAY, scores: null });
    expect(
      retentionSettings({ RETAIN_TEXTS_DAYS: "0.5", RETAIN_HISTORY_DAYS: "0", RETAIN_SCORES_DAYS: "365" }),
    ).toEqual({ texts: 12 * HOUR, history: 0, scores: 365 * DAY });
  });

  it.each([
    ["RETAIN_TEXTS_DAYS", ""],
    ["RETAIN_TEXTS_DAYS", "-1"],
    ["RETAIN_HISTORY_DAYS", "a week"],
    ["RETAIN_HISTORY_DAYS", "1e3"],
    ["RETAIN_SCORES_DAYS", " "],
    ["RETAIN_SCORES_DAYS", "36501"],
  ])("refuse %s = %j with the name, the range and the value", (name, value) => {
    expect(() => retentionSettings({ ...VARIABLES, [name]: value })).toThrow(
      `The variable ${name} must be a number of days from 0 to 36500, such as 7 or 0.5, but is ${JSON.stringify(value)}.`,
    );
  });
});

describe("retention limits", () => {
  const settings = { texts: 7 * DAY, history: 30 * DAY, scores: 90 * DAY };

  it("are the settings before now", () => {
    expect(retentionLimits(settings, "high", NOW)).toEqual({
      texts: NOW - 7 * DAY,
      versions: NOW - 30 * DAY,
      hidden: NOW - 30 * DAY,
      parts: NOW - 30 * DAY,
      jobs: NOW - 30 * DAY,
      submissions: NOW - 30 * DAY,
      malformed: NOW - 30 * DAY,
      scores: NOW - 90 * DAY,
    });
  });

  it("let parts and submissions outlive their messages and texts, whatever the settings", () => {
    const short = { texts: 0, history: 0, scores: null };
    for (const level of ["normal", "pressure", "full"] as const) {
      const limits = retentionLimits(short, level, NOW);
      expect([limits.parts, limits.submissions]).toEqual([NOW - MESSAGE_LIFE_MS, NOW - MESSAGE_LIFE_MS]);
    }
    expect(retentionLimits({ ...settings, texts: 60 * DAY }, "normal", NOW).parts).toBe(NOW - 60 * DAY);
  });

  it("ignore the age of texts and hidden versions under pressure, and leave jobs for a day of the feed", () => {
    const limits = retentionLimits(settings, "pressure", NOW);
    expect(limits.texts).toBeGreaterThan(NOW);
    expect(limits.hidden).toBeGreaterThan(NOW);
    expect(limits).toMatchObject({ versions: NOW - 30 * DAY, jobs: NOW - DAY, scores: NOW - 90 * DAY });
  });

  it("begin a pass over texts every six hours and one over history every day, more often under pressure or if things are kept for less", () => {
    expect(passInterval(settings, "normal", "texts")).toBe(6 * HOUR);
    expect(passInterval(settings, "normal", "history")).toBe(DAY);
    expect(passInterval(settings, "full", "texts")).toBe(HOUR / 4);
    expect(passInterval(settings, "full", "history")).toBe(HOUR);
    expect(passInterval({ ...settings, texts: 1_000 }, "normal", "history")).toBe(1_000);
  });
});

describe("a row of texts", () => {
  const row = (more: Partial<TextsRow>): TextsRow => ({
    id: 1,
    open: 0,
    failed: 0,
    retried: 0,
    endedAt: NOW - 1,
    recordedAt: NOW - 2,
    kept: null,
    ...more,
  });

  it.each([
    ["delete", {}, false],
    ["young", { recordedAt: NOW }, false],
    ["keep", { endedAt: NOW }, false],
    ["keep", { open: 1 }, false],
    ["keep", { open: 1, failed: 2 }, true],
    ["rewrite", { failed: 1 }, false],
    ["keep", { failed: 1, kept: 1 }, false],
    ["rewrite", { failed: 1, kept: 2 }, false],
    ["delete", { failed: 0, kept: 2 }, false],
    ["delete", { failed: 1, kept: 1 }, true],
    ["rewrite", { failed: 1, retried: 1 }, true],
    ["keep", { failed: 1, retried: 1, kept: 1 }, true],
  ] as const)("is subject to %s at %j, failed ones too: %s", (decision, more, failedToo) => {
    expect(decideAboutTexts(row(more), NOW, failedToo)).toBe(decision);
  });
});
