/**
 * `pnpm bench store [NAME...]`: measures the store that the processes of a run share. A name is a
 * database (`sqlite`, `postgres`) or a measurement (`hand-over`, `rollouts`, `sleeps`, `open`): the
 * delay from storing an experience to the wake-up of a waiting process; rollouts per second of two
 * workloads of Agent Lightning with a scripted model, without and with their sleeps; the cost of a
 * rollout with 10 to 10,000 open tasks. PostgreSQL: the one of this machine, with flushing on.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RunStore } from '../packages/core/src/store-seam.ts';
import { openRunStore } from '../packages/buffer/src/run-store/index.ts';
import { findPostgres, startPostgres } from '../tests/support/src/postgres/start-postgres.ts';
import { quantiles } from './store/quantiles.ts';
import {
  drawRollout,
  join,
  planOf,
  rollout,
  shortestMs,
  type Role,
  type Work,
} from './store/rollouts.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const wanted = process.argv.slice(2);
const databases = ['sqlite', 'postgres'];
/** True if the name was given, or no name of the same kind was given. */
function wants(name: string): boolean {
  const isDatabase = databases.includes(name);
  const ofKind = wanted.filter((each) => databases.includes(each) === isDatabase);
  return ofKind.length === 0 || ofKind.includes(name);
}
const leaseMs = 60_000;

/** Starts another process with the same store. */
function start(url: string, role: Role): ChildProcess {
  const script = path.join(import.meta.dirname, 'store/member.ts');
  return fork(script, [url, JSON.stringify(role)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

const message = <T>(child: ChildProcess): Promise<T> =>
  new Promise((resolve, reject) => {
    const fail = (code: number | null): void =>
      reject(new RangeError(`A process ended with ${code}.`));
    child.once('message', (value) => {
      child.off('exit', fail);
      resolve(value as T);
    });
    child.once('exit', fail);
  });

const clock = (): number => Number(process.hrtime.bigint()) / 1e6;

async function handOver(url: string, count = 300): Promise<void> {
  const store = await openRunStore({ url, run: 'hand-over', leaseMs });
  const member = await join(store, 'explorer');
  for (let step = 1; step <= count; step++) await store.plan(member, planOf(step, 1));
  const waiter = start(url, { kind: 'waits', batches: count });
  await message(waiter);
  say(`  a bare message to another process: ${quantiles(await messages(waiter, count))}`);
  const stored: number[] = [];
  const commits: number[] = [];
  const answer = message<readonly number[]>(waiter);
  for (let step = 1; step <= count; step++) {
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 10));
    const [task] = await store.leaseTasks(member, { count: 1, maxStep: count });
    if (!task) break;
    const begun = clock();
    await store.storeResult(member, task, rollout(task, 3));
    stored.push(clock());
    commits.push(clock() - begun);
  }
  const awake = await answer;
  const delays = stored.map((at, i) => Math.max(0, (awake[i] ?? Infinity) - at));
  say(`  stored -> another process has seen it: ${quantiles(delays)}`);
  say(`  storing itself: ${quantiles(commits)}`);
  await store.close();
}

/**
 * Delays of messages between two processes of this machine, in ms: a lower bound for every hand-over.
 */
async function messages(child: ChildProcess, count: number): Promise<readonly number[]> {
  const delays: number[] = [];
  for (let i = 0; i < count; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 10));
    const answer = message<number>(child);
    const sent = clock();
    child.send('ping');
    delays.push((await answer) - sent);
  }
  return delays;
}

interface Workload {
  readonly name: string;
  readonly runners: number;
  readonly turns: number;
  readonly sleepMs: number;
  /** Best published figure, in rollouts per second. */
  readonly published: number;
}

const workloads: readonly Workload[] = [
  { name: 'large batch', runners: 1000, turns: 3, sleepMs: 100, published: 50.05 },
  { name: 'long queue', runners: 256, turns: 4, sleepMs: 100, published: 57.01 },
];

async function throughput(
  url: string,
  { name, runners, turns, published }: Workload,
  sleepMs?: number,
): Promise<void> {
  const [tasks, processes] = [10_000, 2];
  const run = sleepMs === undefined ? name : `${name}, sleeps`;
  const work = { turns, sleepMs };
  const store = await openRunStore({ url, run, leaseMs });
  const member = await join(store, 'planner');
  await store.plan(member, planOf(1, tasks));
  const roles = Array.from({ length: processes }, (_, i) => ({
    kind: 'explores' as const,
    run,
    name: `explorer-${i}`,
    runners: runners / processes,
    work,
  }));
  const explorers = roles.map((role) => start(url, role));
  await Promise.all(explorers.map((explorer) => message(explorer)));
  const begun = clock();
  const ends = explorers.map((explorer) => message(explorer));
  for (const explorer of explorers) explorer.send('go');
  await Promise.all(ends);
  const ms = clock() - begun;
  await assertComplete(store, tasks, work);
  const perSecond = tasks / (ms / 1000);
  const times = `${perSecond.toFixed(0)} rollouts/s, ${(perSecond / published).toFixed(1)} times the published ${published}`;
  const least = shortestMs(tasks, runners, work);
  const ofMaximum = `, ${((100 * least) / ms).toFixed(1)} % of the possible ${((1000 * tasks) / least).toFixed(0)}`;
  say(`  ${run}: ${times}${sleepMs === undefined ? '' : ofMaximum}`);
  await store.close();
}

async function assertComplete(store: RunStore, tasks: number, work: Work): Promise<void> {
  const view = await store.view();
  const total = Array.from({ length: tasks }, (_, task) => drawRollout(task, work).turns).reduce(
    (sum, turns) => sum + turns,
    0,
  );
  if (view.tasks.done === tasks && view.experiences.total === total) return;
  throw new RangeError(`Not every task was done once: ${JSON.stringify(view.tasks)}`);
}

async function flatness(url: string): Promise<void> {
  for (const open of [10, 100, 1000, 10_000]) {
    const store = await openRunStore({ url, run: `open ${open}`, leaseMs });
    const member = await join(store, 'explorer');
    const count = 300;
    await store.plan(member, planOf(1, open));
    for (let step = 2; step * 100 <= count + 100; step++)
      await store.plan(member, planOf(step, 100));
    const begun = clock();
    for (let i = 0; i < count; i++) {
      const [task] = await store.leaseTasks(member, { count: 1, maxStep: 1000 });
      if (task) await store.storeResult(member, task, rollout(task, 3));
      // Plans new tasks, so that the number of open tasks stays the same.
      if (i % 100 === 99) await store.plan(member, planOf(5 + Math.floor(i / 100), 1));
    }
    say(`  ${open} open: ${((clock() - begun) / count).toFixed(2)} ms per rollout`);
    await store.close();
  }
}

async function measure(url: string): Promise<void> {
  if (wants('hand-over')) await handOver(url);
  for (const workload of workloads) {
    if (wants('rollouts')) await throughput(url, workload);
    if (wants('sleeps')) await throughput(url, workload, workload.sleepMs);
  }
  if (wants('open')) await flatness(url);
}

const folder = mkdtempSync(path.join(tmpdir(), 'trinity-bench-store-'));
try {
  if (wants('sqlite')) {
    say('SQLite');
    await measure(path.join(folder, 'run.db'));
  }
  if (wants('postgres') && findPostgres() !== undefined) {
    say('PostgreSQL');
    const server = await startPostgres({ settings: { fsync: 'on', full_page_writes: 'on' } });
    try {
      await measure(server.url());
    } finally {
      await server.stop();
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
