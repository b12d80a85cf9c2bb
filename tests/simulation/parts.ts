/** Settings, tasks, agents and algorithm that the simulated processes of a run share. */
import {
  createExperience,
  type Runtime,
  type Task,
  noNeeds,
  deriveSeed,
  groupBy,
  taskKey,
  type AdvantageFn,
  type Experience,
  defaultFormatArgs,
} from '../../packages/core/src/index.ts';
import type { Engine, Sampler } from '../../packages/core/src/engine-seam.ts';
import type { ExperienceStore } from '../../packages/core/src/store-seam.ts';
import type { RunStore } from '../../packages/core/src/run-store.ts';
import type { TrainerOptions } from '../../packages/trainer/src/index.ts';
import type { TaskFeed } from '../../packages/explorer/src/index.ts';
import type { TaskRunnerOptions } from '../../packages/explorer/src/internal.ts';
import { defineWorkflow, type AgentModel } from '../../packages/workflow/src/index.ts';
import type { Process } from './kernel.ts';
import type { Scenario } from './scenario.ts';

export interface ProcessParts {
  readonly process: Process;
  readonly scenario: Scenario;
  readonly store: RunStore;
  readonly engine: Engine;
  readonly runtime: Runtime;
  /** Opens the trainer's experiences. */
  readonly openExperiences: () => ExperienceStore;
}

/** Tasks of a run, in order. */
export function feedOf(scenario: Scenario): { readonly feed: TaskFeed } & StageFacts {
  const { exploreSteps, tasksPerStep } = scenario;
  let last = 0;
  const feed: TaskFeed = {
    next: async (step) => {
      last = step;
      if (step > exploreSteps) return [];
      return Array.from({ length: tasksPerStep }, (_, task) =>
        taskOf(scenario, { step, task, row: (step - 1) * tasksPerStep + task }),
      );
    },
    state: () => ({ last }),
    restore: (state) => {
      last = Number(state['last']);
    },
  };
  return { feed, evalSets: [], exploreSteps };
}

interface StageFacts {
  readonly evalSets: readonly never[];
  readonly exploreSteps: number;
}

export function taskOf(
  { repeatTimes }: Scenario,
  { step, task, row }: { readonly step: number; readonly task: number; readonly row: number },
): Task {
  return {
    taskId: task,
    batchId: step,
    workflow: 'agent',
    rawTask: {},
    formatArgs: defaultFormatArgs,
    rolloutArgs: {},
    workflowArgs: {},
    rewardFnArgs: {},
    repeatTimes,
    isEval: false,
    index: { taskset: 'tasks', row },
  };
}

/** Agent that calls the model once or twice, slowly and sometimes without success. Equal ids give equal results. */
export function agentOf({ longestCallMs }: Scenario) {
  return defineWorkflow({
    name: 'agent',
    run: async ({ task, model, runtime }) => {
      const { call } = model as unknown as SimulatedModel;
      const experiences: Experience[] = [];
      const calls = 1 + (task.index.row % 2);
      for (let turn = 0; turn < calls; turn++) {
        // The duration of a call may depend on the time, but the response must not.
        const ms = deriveSeed(Math.round(runtime.clock.now()), 'call') % longestCallMs;
        await runtime.clock.sleep(ms);
        experiences.push(await call(turn));
      }
      return experiences;
    },
  });
}

interface SimulatedModel {
  readonly call: (turn: number) => Promise<Experience>;
}

export const modelFactory =
  (sampler: Sampler, seed: number) =>
  (key: Parameters<typeof modelOf>[2]): ReturnType<TaskRunnerOptions['createModel']> => ({
    model: modelOf(sampler, seed, key),
    auxiliaryModels: new Map(),
    metrics: () => ({}),
    longestPauseMs: () => 0,
  });

/** Model whose samples depend only on the ids of the run and the weights in use. */
function modelOf(
  sampler: Sampler,
  seed: number,
  { task, run, attempt }: { readonly task: Task; readonly run: number; readonly attempt: number },
): AgentModel {
  const ids = [task.batchId, task.taskId, run];
  const call = async (turn: number): Promise<Experience> => {
    const luck = deriveSeed(seed, 'fails', ...ids) % 40;
    if (luck === 0 || (luck < 5 && attempt === 0)) throw new Error('The agent failed.');
    const prompt = Int32Array.of(1 + (task.index.row % 4), turn);
    const callSeed = deriveSeed(seed, 'call', ...ids, turn);
    const [sequence] = await sampler.sample(prompt, { maxTokens: 4, seed: callSeed });
    if (!sequence) throw new Error('Nothing was sampled.');
    const { tokens, logprobs, policyVersion } = sequence;
    return createExperience({
      eid: { step: turn },
      tokens: [...prompt, ...tokens],
      promptLength: prompt.length,
      logprobs,
      policyVersion,
      temperature: 1,
      reward: tokens.filter((token) => token === 3).length,
    });
  };
  return { call, extractExperiencesFromHistory: () => [] } as unknown as AgentModel;
}

/** Advantage: reward minus the mean of the group. */
const advantage: AdvantageFn = (experiences) => {
  const means = new Map(
    [...groupBy(experiences, ({ eid }) => taskKey(eid))].map(([key, group]) => [
      key,
      group.reduce((sum, { reward = 0 }) => sum + reward, 0) / group.length,
    ]),
  );
  return {
    metrics: {},
    experiences: experiences.map((experience) => {
      const { reward = 0, eid, logprobs } = experience;
      const value = reward - (means.get(taskKey(eid)) ?? 0);
      return { ...experience, advantages: new Float32Array(logprobs.length).fill(value) };
    }),
  };
};

/** Algorithm with loss = -sum of advantage * log-probability. */
export const algorithm: TrainerOptions['algorithm'] & { readonly advantage: AdvantageFn } = {
  advantage,
  needs: { ...noNeeds, rollouts: true },
  loss: ({ advantages, currentLogprobs }) => ({
    loss: -advantages.reduce((sum, value, i) => sum + value * (currentLogprobs[i] ?? 0), 0),
    gradLogprobs: advantages.map((value) => -value),
    metrics: {},
  }),
};
