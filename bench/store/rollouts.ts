/** Data that the measured processes store: rollouts of a scripted model. */
import { createExperience, createRandom } from '../../packages/core/src/index.ts';
import type {
  ExplorePlan,
  LeasedTask,
  Membership,
  RunStore,
  TaskResult,
} from '../../packages/core/src/store-seam.ts';

/** Work of a process with the store. */
export type Role =
  | { readonly kind: 'waits'; readonly batches: number }
  | {
      readonly kind: 'explores';
      readonly run: string;
      readonly name: string;
      readonly runners: number;
      readonly work: Work;
    };

/** Properties of a rollout. */
export interface Work {
  /** Number of turns, each of which becomes an experience. */
  readonly turns: number;
  /**
   * Maximum length of a sleep, in ms. With sleeps, a rollout has between one and all turns; each
   * turn has two sleeps, and one more follows at the end, as in the workloads of Agent Lightning.
   * @default no sleeps
   */
  readonly sleepMs?: number;
}

/** Draws a rollout by task number, the same in every process. */
export function drawRollout(task: number, { turns, sleepMs }: Work) {
  if (sleepMs === undefined) return { turns, sleepsMs: [] };
  const random = createRandom(task);
  const drawn = 1 + Math.floor(random.next() * turns);
  return {
    turns: drawn,
    sleepsMs: Array.from({ length: 2 * drawn + 1 }, () => random.next() * sleepMs),
  };
}

/** Shortest time in which `runners` can do the tasks, if each takes the next task when it is free. */
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
});

/** Result of one run, with an experience of 200 tokens for every turn. */
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
