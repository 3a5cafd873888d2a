import { SluiceError, type Sluice } from "../../index.ts";
import type { Stats, Submission } from "../../types.ts";
import { clientOf, CommandError, DEFAULT_URL, type Cli } from "../cli.ts";
import { diagnose, type Finding, type Signs } from "../diagnosis.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { readSamples, type MetricSample } from "../open-metrics.ts";
import { errorWords } from "../report-error.ts";
import { describeStandIn } from "../scorer.ts";
import { ago, bytes, count, duration, oneLine, plural } from "../text.ts";

export interface DoctorFlags {
  readonly json?: boolean;
}

/** Few, because the question is how it is now. */
const RETRIES = 1;
const MAX_STALLED = 3;

/**
 * Says what is wrong with a deployment, since when, what it means and what to do. Ends with 0 if nothing is wrong, 1 if
 * something is, and 2 if the API cannot be asked.
 */
export async function doctor(cli: Cli, flags: DoctorFlags): Promise<ExitCode> {
  const { out } = cli;
  const notes: string[] = [];
  const signs = await readSigns(cli, notes);
  const findings = diagnose(signs);
  if (!out.human || flags.json === true) out.record({ healthy: findings.length === 0, problems: findings, notes });
  else print(cli, signs, findings, notes);
  return findings.length === 0 ? EXIT.ok : EXIT.error;
}

async function readSigns(cli: Cli, notes: string[]): Promise<Signs> {
  const { signal } = cli;
  const client = clientOf(cli, { retries: RETRIES });
  try {
    const readiness = await client.readiness({ signal });
    const stats = await allowed("stats", () => client.stats({ signal }), notes);
    const samples = await allowed("metrics", async () => readSamples(await client.metrics({ signal })), notes);
    const stalled = (await allowed("submissions", () => readStalled(client, signal), notes)) ?? [];
    return { readiness, stats, samples, stalled, now: cli.now() };
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    throw new CommandError(EXIT.usage, oneLine(`${errorWords(error)} Check SLUICE_URL and SLUICE_API_KEY.`));
  }
}

/** Reads something, or notes that this key or server does not allow it. A server that fails is not a reason to stop. */
async function allowed<T>(what: string, read: () => Promise<T>, notes: string[]): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof SluiceError) || !SKIPPED.has(error.code)) throw error;
    notes.push(oneLine(`Skipped ${what}: ${error.detail}`));
    return null;
  }
}

const SKIPPED: ReadonlySet<SluiceError["code"]> = new Set(["forbidden", "not-found", "unavailable", "internal"]);

async function readStalled(client: Sluice, signal: AbortSignal): Promise<readonly Submission[]> {
  return (await client.submissions({ status: "stalled", limit: MAX_STALLED, signal }).page()).data;
}

function print({ out, env, now }: Cli, signs: Signs, findings: readonly Finding[], notes: readonly string[]): void {
  const url = env["SLUICE_URL"] || DEFAULT_URL;
  if (findings.length === 0) out.print(`${out.style("Healthy", "green")}: ${url}`);
  else out.print(`${out.style(plural(findings.length, "problem"), "red")}: ${url}`);
  for (const { name, since, what, means, do: steps } of findings) {
    const when = since === null ? "" : ` for ${duration(now() - Date.parse(since))}, since ${since}`;
    out.print(`\n${out.style(name, "bold")}${when}`);
    for (const line of [what, means, ...steps.map((step) => `→ ${step}`)]) out.print(`  ${oneLine(line)}`);
  }
  const facts = [
    ...(signs.stats === null ? [] : statsFacts(signs.stats, now())),
    ...(signs.samples === null ? [] : databaseFact(signs.samples)),
  ];
  if (facts.length > 0) {
    out.print("");
    out.facts(facts);
  }
  const standIn = signs.stats === null ? null : describeStandIn(signs.stats.scorer);
  for (const note of [...notes, ...(standIn === null ? [] : [standIn])]) out.note(note);
}

function statsFacts(stats: Stats, now: number): [string, string][] {
  const { poller, backlog, oldest_waiting_at: oldest, throughput, pauses } = stats;
  const age = oldest === null ? "" : `, the oldest pushed ${ago(oldest, now)}`;
  const scopes = pauses.map(({ scope, reason }) => `${scope} (${reason})`);
  return [
    ["poller", poller === null ? "never ran" : `ran ${ago(poller.last_run_at, now)}`],
    ["backlog", `${plural(backlog.documents, "document")} in ${plural(backlog.jobs, "job")}${age}`],
    ["ended", `${count(throughput.last_5_minutes)} in 5 minutes, ${count(throughput.last_hour)} in an hour`],
    ...(scopes.length === 0 ? [] : [["paused", scopes.join(", ")] as [string, string]]),
  ];
}

function databaseFact(samples: readonly MetricSample[]): [string, string][] {
  const value = (name: string) => samples.find((sample) => sample.name === name)?.value;
  const [size, limit] = [value("sluice_database_size_bytes"), value("sluice_database_limit_bytes")];
  if (size === undefined || limit === undefined || limit <= 0) return [];
  return [["database", `${bytes(size)} of ${bytes(limit)} (${Math.round((100 * size) / limit)} %)`]];
}
