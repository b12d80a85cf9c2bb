/**
 * `pnpm bench kills [N] [--store sqlite|postgres] [--seed S]`: N random disturbances of a trainer and
 * its explorers, which are separate processes, over as many runs as needed: SIGKILL, or SIGSTOP for up
 * to twice the lease time followed by SIGCONT. In between, an explorer joins late, second trainers must
 * be refused, and a stopped trainer is replaced by another one, which has to fence it off. The final
 * contents of the stores are counted by SQL and compared with an undisturbed run. Exits with 1 at any
 * violation. The seed determines the disturbances and the pauses between them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { createRandom } from '../packages/core/src/index.ts';
import { startPostgres } from '../tests/support/src/postgres/start-postgres.ts';
import { writeDigitsData } from './digits/run.ts';
import { acknowledged, factsOf, type Acknowledged, type Facts } from './kills/facts.ts';
import { stopPost, type Post } from './kills/post.ts';
import { startAll, type Processes } from './kills/processes.ts';
import { totalSteps, type RunPlace } from './kills/workspace.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: 'string', default: 'sqlite' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const wanted = Number(positionals[0] ?? 20);
const random = createRandom(Number(values.seed));

/**
 * Kinds of disturbances: SIGKILL, and pauses below the lease time of 15 s, above it, and twice as
 * long.
 */
const kinds = ['SIGKILL', 'SIGSTOP 5 s', 'SIGSTOP 18 s', 'SIGSTOP 30 s'] as const;
type Kind = (typeof kinds)[number];
const stopMs: Readonly<Record<Kind, number>> = {
  SIGKILL: 0,
  'SIGSTOP 5 s': 5000,
  'SIGSTOP 18 s': 18_000,
  'SIGSTOP 30 s': 30_000,
};
/** Cumulative probabilities of `kinds`. */
const shares = [0.6, 0.7, 0.8, 1];
const longestPauseMs = 3000;
/** Maximum wait for progress since the previous disturbance, in ms. */
const patienceMs = 10_000;
const mostPerRun = 10;
/** Train step after which no process joins late, because the run may end first. */
const lastQuietStep = totalSteps / 2;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const counts = new Map<string, number>();
const countOf = (what: string): number => counts.get(what) ?? 0;
const countOne = (what: string): void => void counts.set(what, countOf(what) + 1);
const sums = { disturbances: 0, runs: 0, late: 0, violations: 0 };

async function progress(place: RunPlace, step: number, ended: AbortSignal): Promise<void> {
  const begun = performance.now();
  while (!ended.aborted && performance.now() - begun < patienceMs) {
    if ((await acknowledged(place)).trainStep > step) return;
    await pause(200);
  }
}

/**
 * Random decisions of a disturbance. All are drawn each time, so that the sequence does not depend on
 * which are used.
 */
const draw = () => ({
  pauseMs: random.next() * longestPauseMs,
  kind: kindAt(random.next()),
  who: random.next(),
  joins: random.next() < 0.3,
  second: random.next(),
  replaces: random.next() < 0.7,
});
type Drawn = ReturnType<typeof draw>;

const kindAt = (share: number): Kind => kinds[shares.findIndex((end) => share < end)] ?? 'SIGKILL';

interface Disturbed {
  readonly problems: readonly string[];
  /** Number of the trainer whose folder has the weights. */
  readonly trainer: number;
}

/** Disturbs a run until it ends, at most `most` times. */
async function disturb(place: RunPlace, most: number): Promise<Disturbed> {
  const processes = startAll(place);
  const ended = new AbortController();
  void processes.ended.finally(() => ended.abort());
  const seen: Acknowledged[] = [];
  const begun = performance.now();
  const tell = (what: string): void => {
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    say(`${place.name}, ${seconds} s: ${what}, after train step ${seen.at(-1)?.trainStep ?? 0}`);
  };
  for (let left = most; left > 0; left--) {
    const drawn = draw();
    await progress(place, seen.at(-1)?.trainStep ?? 0, ended.signal);
    await pause(drawn.pauseMs, undefined, { signal: ended.signal }).catch(() => null);
    if (ended.signal.aborted) break;
    const now = await acknowledged(place);
    seen.push(now);
    if (now.trainStep < lastQuietStep) await comeLate(processes, drawn, tell);
    const running = processes.running();
    const post = running[Math.floor(drawn.who * running.length)];
    if (post) await disturbOne(processes, post, { ...drawn, tell });
  }
  const problems = await processes.ended;
  const end = await acknowledged(place);
  return { problems: [...problems, ...lost(seen, end)], trainer: processes.trainer() };
}

type Tell = (what: string) => void;

async function comeLate(processes: Processes, { joins, second }: Drawn, tell: Tell) {
  if (joins && !processes.hasJoined()) {
    tell('an explorer joins');
    countOne('late explorers');
    processes.join();
  }
  if (second > 0.25) return;
  const where = second < 0.125 ? 'its folder' : 'another machine';
  if (!(await processes.startSecondTrainer(where))) return;
  tell(`a second trainer, in ${where}, has been refused`);
  countOne('second trainers');
}

async function disturbOne(
  processes: Processes,
  post: Post,
  { kind, replaces, tell }: Drawn & { readonly tell: Tell },
): Promise<void> {
  const { role, child } = post;
  const isTrainer = role === 'trainer';
  sums.disturbances += 1;
  countOne(`${isTrainer ? 'trainer' : 'explorer'} ${kind}`);
  tell(`${kind} to ${role}`);
  if (kind === 'SIGKILL') child.kill(kind);
  else if (!isTrainer || !replaces || kind !== 'SIGSTOP 30 s') stopPost(post, stopMs[kind]);
  else await replaceTrainer(processes, post, tell);
}

async function replaceTrainer(processes: Processes, post: Post, tell: Tell): Promise<void> {
  const ms = stopMs['SIGSTOP 30 s'];
  const end = await processes.replaceTrainer(ms);
  if (end === undefined) return stopPost(post, ms);
  if (end === 'replaced') countOne('replaced trainers');
  tell(end === 'replaced' ? 'another trainer has its place' : 'it came back before that');
}

/** Facts that were acknowledged during the run, and are missing or changed at the end. */
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
    'late results were not counted': found.late >= found.noticedLate,
    'the weights differ': found.digest === expected.digest,
  };
  return Object.keys(checks).filter((what) => checks[what] === false);
}

async function measure(root: string, postgresUrl: string | undefined): Promise<void> {
  await writeDigitsData(root);
  const whole = { root, postgresUrl, name: 'undisturbed' };
  const { problems } = await disturb(whole, 0);
  const expected = await factsOf(whole, 1);
  report('undisturbed', expected, [...problems, ...violationsOf(expected, expected)]);
  while (sums.disturbances < wanted) {
    sums.runs += 1;
    const place = { root, postgresUrl, name: `run-${sums.runs}` };
    const most = Math.min(mostPerRun, wanted - sums.disturbances);
    const { problems: wrong, trainer } = await disturb(place, most);
    const found = await factsOf(place, trainer);
    sums.late += found.late;
    report(place.name, found, [...wrong, ...violationsOf(found, expected)]);
  }
}

function report(name: string, facts: Facts, violations: readonly string[]): void {
  const numbers = Object.entries(facts.counts).map(([what, count]) => `${what} ${count}`);
  say(`${name}: ${numbers.join(', ')}, late ${facts.late}, sha256 ${facts.digest}`);
  for (const violation of violations) say(`${name}: VIOLATION: ${violation}`);
  sums.violations += violations.length;
}

function sum(): void {
  say(`\n| ${values.store} | ${kinds.join(' | ')} |\n| --- |${' --- |'.repeat(kinds.length)}`);
  for (const role of ['trainer', 'explorer'])
    say(`| ${role} | ${kinds.map((kind) => countOf(`${role} ${kind}`)).join(' | ')} |`);
  const others = ['late explorers', 'second trainers', 'replaced trainers'];
  const { disturbances, runs, late, violations } = sums;
  say(`\n${others.map((what) => `${countOf(what)} ${what}`).join(', ')}, ${late} late results`);
  say(`${disturbances} disturbances of ${runs} runs: ${violations} violations`);
}

say(`seed ${values.seed}, ${values.store}`);
const root = mkdtempSync(path.join(tmpdir(), 'trinity-kills-'));
const postgres = values.store === 'postgres' ? await startPostgres() : undefined;
try {
  await measure(root, postgres?.url());
} finally {
  await postgres?.stop();
}
sum();
if (sums.violations === 0) rmSync(root, { recursive: true });
else say(`The folders and logs of the runs are in ${root}.`);
process.exitCode = sums.violations === 0 ? 0 : 1;
