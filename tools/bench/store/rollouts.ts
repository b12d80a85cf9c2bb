/** What the measured processes store: rollouts of a scripted model. */
import { createExperience } from '../../../packages/core/src/index.ts';
import type {
  ExplorePlan,
  LeasedTask,
  Membership,
  RunStore,
  TaskResult,
} from '../../../packages/core/src/internal.ts';

/** What a process does at the store. */
export type Role =
  | { readonly kind: 'waits'; readonly batches: number }
  | {
      readonly kind: 'explores';
      readonly run: string;
      readonly name: string;
      readonly runners: number;
      readonly turns: number;
    };

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
