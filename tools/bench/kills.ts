/**
 * `pnpm bench kills [N] [--store sqlite|postgres] [--seed S]`: N random disturbances of a trainer and
 * two explorers, processes of their own, over as many runs as that takes: SIGKILL, or SIGSTOP for
 * longer than the lease time and then SIGCONT. What the stores hold at the end is counted by SQL, and
 * compared with a run that nobody disturbed. Ends with 1 at any violation. The seed decides who is
 * disturbed how, and after which pause.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { createRandom } from '../../packages/core/src/internal.ts';
import { startPostgres } from '../../packages/testing/src/postgres/start-postgres.ts';
import { acknowledged, factsOf, type Acknowledged, type Facts } from './kills/facts.ts';
import { startAll } from './kills/processes.ts';
import { prepare, type RunPlace } from './kills/workspace.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: 'string', default: 'sqlite' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const wanted = Number(positionals[0] ?? 20);
const random = createRandom(Number(values.seed));
/** The lease time is 15 s. */
const stopMs = 20_000;
const longestPauseMs = 3000;
/** Each disturbance waits for progress since the one before, this long at most. */
const patienceMs = 10_000;
const mostPerRun = 10;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const sums = { kills: 0, stops: 0, runs: 0, late: 0, violations: 0 };

async function progress(place: RunPlace, step: number, ended: AbortSignal): Promise<void> {
  const begun = performance.now();
  while (!ended.aborted && performance.now() - begun < patienceMs) {
    if ((await acknowledged(place)).trainStep > step) return;
    await pause(200);
  }
}

/** Disturbs a run until it ends, `most` times at most. */
async function disturb(place: RunPlace, most: number): Promise<readonly string[]> {
  const processes = startAll(place);
  const ended = new AbortController();
  void processes.ended.finally(() => ended.abort());
  const seen: Acknowledged[] = [];
  const begun = performance.now();
  for (let left = most; left > 0; left--) {
    const [wait, kind, who] = [random.next(), random.next(), random.next()];
    await progress(place, seen.at(-1)?.trainStep ?? 0, ended.signal);
    await pause(wait * longestPauseMs, undefined, { signal: ended.signal }).catch(() => null);
    const running = processes.running();
    const role = running[Math.floor(who * running.length)];
    if (ended.signal.aborted) break;
    if (role === undefined) continue;
    const now = await acknowledged(place);
    seen.push(now);
    const isKill = kind < 0.7;
    if (isKill) processes.kill(role);
    else processes.stop(role, stopMs);
    sums[isKill ? 'kills' : 'stops'] += 1;
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    const what = isKill ? 'SIGKILL' : `SIGSTOP for ${stopMs / 1000} s`;
    say(`${place.name}, ${seconds} s: ${what} to ${role}, after train step ${now.trainStep}`);
  }
  const problems = await processes.ended;
  const end = await acknowledged(place);
  return [...problems, ...lost(seen, end)];
}

/** What was acknowledged at some moment and is gone, or another, at the end. */
function lost(seen: readonly Acknowledged[], end: Acknowledged): readonly string[] {
  const changed = (part: 'results' | 'uses'): ReadonlySet<string> =>
    new Set(
      seen.flatMap((then) =>
        [...then[part]].flatMap(([key, value]) => (end[part].get(key) === value ? [] : [key])),
      ),
    );
  return (['results', 'uses'] as const).flatMap((part) => {
    const { size } = changed(part);
    return size === 0 ? [] : [`${size} ${part} were acknowledged and are lost or changed`];
  });
}

function violationsOf(found: Facts, expected: Facts): readonly string[] {
  const { withoutResult, otherExperiences, trainedTwice, unused } = found.counts;
  const checks: Readonly<Record<string, boolean>> = {
    'tasks have no result': withoutResult === 0,
    'tasks have more or fewer experiences than runs': otherExperiences === 0,
    'experiences were trained more than once': trainedTwice === 0,
    'experiences were not used': unused === 0,
    'the counts differ from the undisturbed run': isDeepStrictEqual(found.counts, expected.counts),
    'train steps used other experiences': isDeepStrictEqual(found.uses, expected.uses),
    "the trainer's own store says otherwise": isDeepStrictEqual(found.uses, found.ownUses),
    'the weights differ': found.digest === expected.digest,
  };
  return Object.keys(checks).filter((what) => checks[what] === false);
}

async function measure(root: string, storeUrl: string | undefined): Promise<void> {
  await prepare(root);
  const whole = { root, storeUrl, name: 'undisturbed' };
  const problems = await disturb(whole, 0);
  const expected = await factsOf(whole);
  report('undisturbed', expected, [...problems, ...violationsOf(expected, expected)]);
  while (sums.kills + sums.stops < wanted) {
    sums.runs += 1;
    const place = { root, storeUrl, name: `run-${sums.runs}` };
    const wrong = await disturb(place, Math.min(mostPerRun, wanted - sums.kills - sums.stops));
    const found = await factsOf(place);
    sums.late += found.late;
    report(place.name, found, [...wrong, ...violationsOf(found, expected)]);
  }
}

function report(name: string, { counts, late, digest }: Facts, violations: readonly string[]) {
  const numbers = Object.entries(counts).map(([what, count]) => `${what} ${count}`);
  say(`${name}: ${numbers.join(', ')}, late ${late}, sha256 ${digest}`);
  for (const violation of violations) say(`${name}: VIOLATION: ${violation}`);
  sums.violations += violations.length;
}

say(`seed ${values.seed}, ${values.store}`);
const root = mkdtempSync(path.join(tmpdir(), 'trinity-kills-'));
const postgres = values.store === 'postgres' ? await startPostgres() : undefined;
try {
  await measure(root, postgres?.url());
} finally {
  await postgres?.stop();
}
const { kills, stops, runs, late, violations } = sums;
say(
  `${kills} killed, ${stops} stopped, ${runs} runs, ${late} late results: ${violations} violations`,
);
if (violations === 0) rmSync(root, { recursive: true });
else say(`The folders and logs of the runs are in ${root}.`);
process.exitCode = violations === 0 ? 0 : 1;
