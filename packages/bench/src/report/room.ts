import { PRICES } from "@sluice/core";
import { RETENTION_STATEMENTS } from "@sluice/pipeline/submission/retention-rules.ts";
import { STEP_STATEMENTS } from "@sluice/pipeline/submission/retention.ts";
import type { Retained, Room, RoomWay } from "../measures/room.ts";
import { TARGET_SMALL_JOBS } from "../plans.ts";
import type { BudgetLine } from "./budget-line.ts";
import { figure, table } from "./table.ts";

/** Rows written per document. */
const MAX_TEXT_ROWS = 0.02;
/** Twice a night of three million in bulk, and twice the most that can be pushed alone in a day. */
const WANTED_PER_DAY = { bulk: 2 * 3e6, alone: 2 * TARGET_SMALL_JOBS * 1_440 } as const;
/** One every five minutes. */
const SWEEPS_PER_DAY = 288;
/** The default of `MAX_DATABASE_BYTES`, and the share above which pushes are refused. */
const DATABASE_BYTES = 9.5e9;
const FULL = 0.95;

/** What sweeps can delete if as many documents as possible are old enough: their texts, and the history of others. */
export interface Rate {
  readonly documentsPerSweep: number;
  readonly documentsPerDay: number;
  readonly rowsWrittenPerMinute: number;
  readonly rowsReadPerMinute: number;
  readonly secondsPerSweep: number;
}

/** A sweep starts no step that may exceed its statements. */
export function rateOf({ texts, history }: Room): Rate {
  const sum = (what: keyof Retained) => texts[what] + history[what];
  const documentsPerSweep = (RETENTION_STATEMENTS - STEP_STATEMENTS) / sum("statements");
  const documentsPerDay = documentsPerSweep * SWEEPS_PER_DAY;
  return {
    documentsPerSweep,
    documentsPerDay,
    rowsWrittenPerMinute: (documentsPerDay * sum("rowsWritten")) / 1_440,
    rowsReadPerMinute: (documentsPerDay * sum("rowsRead")) / 1_440,
    secondsPerSweep: (documentsPerSweep * sum("milliseconds")) / 1_000,
  };
}

export function judgeRoom(rooms: readonly Room[]): BudgetLine[] {
  const of = (way: RoomWay) => rooms.find((room) => room.way === way);
  const written = of("bulk")?.texts.rowsWritten ?? Number.NaN;
  return [
    {
      what: "rows written to delete the texts of a document, bulk",
      budget: `≤ ${figure(MAX_TEXT_ROWS)}`,
      measured: figure(written),
      ok: written <= MAX_TEXT_ROWS,
    },
    ...(["bulk", "alone"] as const).map((way) => {
      const room = of(way);
      const rate = room === undefined ? Number.NaN : rateOf(room).documentsPerDay;
      return {
        what: `documents per day whose texts and history retention deletes, ${NAMES[way]}`,
        budget: `≥ ${figure(WANTED_PER_DAY[way])}`,
        measured: figure(Math.round(rate)),
        ok: rate >= WANTED_PER_DAY[way],
      };
    }),
  ];
}

const NAMES: Readonly<Record<RoomWay, string>> = {
  bulk: "bulk",
  "one by one": "one by one",
  alone: "one by one, in jobs of one",
};

/** Days of retention; `scores` may be infinite. */
export interface Retention {
  readonly texts: number;
  readonly history: number;
  readonly scores: number;
}

export interface Year {
  /** At its end. */
  readonly gigabytes: number;
  readonly storageDollars: number;
  readonly retentionDollars: number;
}

const YEAR_DAYS = 365;
/** New documents per night, in millions. */
const SCHEMES: readonly (Retention & { readonly millions: number })[] = [
  { millions: 1, texts: 7, history: 30, scores: Number.POSITIVE_INFINITY },
  { millions: 1, texts: 7, history: 30, scores: 30 },
  { millions: 1, texts: 1, history: 14, scores: 14 },
  { millions: 0.25, texts: 7, history: 30, scores: 30 },
];

/** A year in which as many new documents arrive every night. Free tiers are ignored. */
export function yearOf(room: Room, documents: number, { texts, history, scores }: Retention): Year {
  // One night of documents by its age in days.
  const bytesAt = (age: number): number => {
    const hidden = age < history ? room.texts.bytes - room.history.bytes : 0;
    if (age < texts) return room.bytes;
    return hidden + (age < scores ? room.history.bytes : 0);
  };
  let gigabytes = 0;
  let gigabyteDays = 0;
  let [rowsWritten, rowsRead] = [0, 0];
  for (let day = 0; day < YEAR_DAYS; day += 1) {
    gigabytes += (documents * bytesAt(day)) / 1e9;
    gigabyteDays += gigabytes;
    for (const [age, { rowsWritten: written, rowsRead: read }] of [
      [texts, room.texts],
      [history, room.history],
      [scores, room.scores],
    ] as const) {
      if (day < age) continue;
      rowsWritten += documents * written;
      rowsRead += documents * read;
    }
  }
  return {
    gigabytes,
    storageDollars: ((gigabyteDays * 12) / YEAR_DAYS) * PRICES.gigabyteMonth,
    retentionDollars: rowsWritten * PRICES.rowWritten + rowsRead * PRICES.rowRead,
  };
}

/** The section of `RESULTS.md`. */
export function describeRoom(rooms: readonly Room[]): string {
  const bulk = rooms.find(({ way }) => way === "bulk");
  const fits = (bytes: number, share: number) => `${((DATABASE_BYTES * share) / bytes / 1e6).toFixed(1)} million`;
  const stages = (room: Room) => [room.texts, room.history, room.scores];
  return [
    "## Room",
    "Documents of 1.5 KB with 5 contexts in the local D1, their scores, and what retention deletes as days go by, with " +
      "the deployed settings: texts after 7 days, history (parts, jobs, submissions without documents) after 30. Bytes are D1's `size_after`, per document. " +
      "_Jobs of one_: each document was pushed and delivered alone, the worst case.",
    table(
      ["bytes per document", "documents", "with texts", "without texts", "and without history"],
      rooms.map((room) => [
        NAMES[room.way],
        figure(room.documents),
        ...[room.bytes, room.texts.bytes, room.history.bytes].map((bytes) => figure(Math.round(bytes))),
      ]),
    ),
    "Rows that retention writes and reads per document, to delete its texts · its history · its scores, if `RETAIN_SCORES_DAYS` is set:",
    table(
      ["", "rows written", "rows read", "$ / million"],
      rooms.map((room) => [
        NAMES[room.way],
        stages(room)
          .map(({ rowsWritten }) => figure(rowsWritten))
          .join(" · "),
        stages(room)
          .map(({ rowsRead }) => rowsRead.toFixed(1))
          .join(" · "),
        stages(room)
          .map((one) => `$${((one.rowsWritten * PRICES.rowWritten + one.rowsRead * PRICES.rowRead) * 1e6).toFixed(2)}`)
          .join(" · "),
      ]),
    ),
    `Its rate: a sweep every five minutes sends at most ${RETENTION_STATEMENTS} statements, ${RETENTION_STATEMENTS / 5} a minute. ` +
      "Documents are those whose texts and whose history are deleted. Small measurements are left out, because the statements " +
      "of a sweep that do not depend on documents would dominate. _Idle_: a sweep that finds nothing old enough.",
    table(
      [
        "",
        "documents a sweep",
        "documents a day",
        "rows written a minute",
        "rows read a minute",
        "seconds a sweep",
        "rows read idle",
      ],
      rooms
        .filter(({ way }) => way !== "one by one")
        .map((room) => {
          const rate = rateOf(room);
          return [
            NAMES[room.way],
            ...[rate.documentsPerSweep, rate.documentsPerDay, rate.rowsWrittenPerMinute, rate.rowsReadPerMinute].map(
              (value) => figure(Math.round(value)),
            ),
            rate.secondsPerSweep.toFixed(1),
            figure(room.idleRowsRead),
          ];
        }),
    ),
    ...(bulk === undefined
      ? []
      : [
          `How many documents fit, pushed in bulk. Pushes are refused above ${FULL * 100} % of \`MAX_DATABASE_BYTES\`, by default 9.5 GB:`,
          table(
            ["", "in 9.5 GB", "until pushes are refused"],
            [
              ["with texts", fits(bulk.bytes, 1), fits(bulk.bytes, FULL)],
              ["without texts", fits(bulk.texts.bytes, 1), fits(bulk.texts.bytes, FULL)],
              ["only scores", fits(bulk.history.bytes, 1), fits(bulk.history.bytes, FULL)],
            ],
          ),
          "A year of new documents every night, in bulk, computed from the bytes and rows above. Storage grows from an empty " +
            `database at $${PRICES.gigabyteMonth} per GB and month. Pushing and tokens cost extra. Documents that are replaced every night ` +
            "take as much, and cost as much to delete, as if scores were kept for as long as history.",
          describeYears(bulk),
          "What does not fit into one database needs several, divided by collection. If there is only one, retention deletes texts before " +
            "their time from 85 %, so that more nights fit, and pushes are refused once mostly scores are left.",
        ]),
  ].join("\n\n");
}

function describeYears(bulk: Room): string {
  return table(
    [
      "a night",
      "texts days",
      "history days",
      "scores days",
      "GB after a year",
      "databases",
      "storage $",
      "retention $",
    ],
    SCHEMES.map((scheme) => {
      const year = yearOf(bulk, scheme.millions * 1e6, scheme);
      return [
        `${scheme.millions} million`,
        figure(scheme.texts),
        figure(scheme.history),
        Number.isFinite(scheme.scores) ? figure(scheme.scores) : "forever",
        year.gigabytes.toFixed(1),
        figure(Math.ceil((year.gigabytes * 1e9) / (DATABASE_BYTES * FULL))),
        year.storageDollars.toFixed(0),
        year.retentionDollars.toFixed(0),
      ];
    }),
  );
}
