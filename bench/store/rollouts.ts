/** What the measured processes store: rollouts of a scripted model. */
import { createExperience, createRandom } from '../../packages/core/src/index.ts';
import type {
  ExplorePlan,
  LeasedTask,
  Membership,
  RunStore,
  TaskResult,
} from '../../packages/core/src/store-seam.ts';

/** What a process does at the store. */
export type Role =
  | { readonly kind: 'waits'; readonly batches: number }
  | {
      readonly kind: 'explores';
      readonly run: string;
      readonly name: string;
      readonly runners: number;
      readonly work: Work;
    };

/** What a rollout is. */
export interface Work {
  /** Each of them is an experience. */
  readonly turns: number;
  /**
   * Where it sleeps, a rollout has between one turn and all; each has two sleeps of up to so long, and one
   * more comes at the end, as in the workloads of Agent Lightning. @default no sleeps
   */
  readonly sleepMs?: number;
}

/** Keyed by task, the same in every process. */
export function drawRollout(task: number, { turns, sleepMs }: Work) {
  if (sleepMs === undefined) return { turns, sleepsMs: [] };
  const random = createRandom(task);
  const drawn = 1 + Math.floor(random.next() * turns);
  return {
    turns: drawn,
    sleepsMs: Array.from({ length: 2 * drawn + 1 }, () => random.next() * sleepMs),
  };
}

/** The shortest time in which so many runners can do the tasks, one after the other as they get free. */
export function shortestMs(tasks: number, runners: number, work: Work): number {
  const free = Array.from({ length: runners }, () => 0);
  for (let task = 0; task < tasks; task++) {
    const { sleepsMs } = drawRollout(task, work);
    const next = free.indexOf(Math.min(...free));
    free[next] = (free[next] ?? 0) + sleepsMs.reduce((sum, ms) => sum + ms, 0);
  }
  return Math.max(...free);
}

export const join = (store: RunStore, name: string): Promise<Membership> =>
  store.join({ role: 'explorer', name, host: 'here', pid: process.pid });

export const planOf = (step: number, count: number): ExplorePlan => ({
  step,
  batches: [
    {
      batch: String(step),
      step,
      isEval: false,
      version: undefined,
      tasks: Array.from({ length: count }, (_, task) => ({ task, taskset: 'scripted', row: task })),
    },
  ],
  feed: {},
  isLast: false,
});

/** One run, with an experience of 200 tokens for every turn. */
export const rollout = ({ batch, task }: LeasedTask, turns: number): TaskResult => ({
  experiences: Array.from({ length: turns }, (_, step) =>
    createExperience({
      eid: { batch, task, run: 0, step, suffix: 'a' },
      tokens: Array.from({ length: 200 }, (_each, i) => (task * 31 + i) % 1000),
      promptLength: 100,
      logprobs: new Float32Array(100).fill(-0.5),
      reward: 1,
      policyVersion: 0,
    }),
  ),
  outcome: { reward: 1 },
});
