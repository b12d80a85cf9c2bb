/** Runs an explorer as a simulated process: mode `explore`, with the engine and agents of the simulation. */
import path from 'node:path';
import {
  createEnvironmentCircuits,
  createTimeLimits,
  taskStarter,
} from '../../packages/explorer/src/internal.ts';
import { taskRunnerOptions } from '../../packages/launcher/src/assembly/explorer-options.ts';
import { exploreLeased } from '../../packages/launcher/src/modes/distributed/explore-leased.ts';
import { joinRun, type JoinedRun } from '../../packages/launcher/src/modes/distributed/join-run.ts';
import { modelFactory, taskOf, type ProcessParts } from './parts.ts';
import { contextOf, jobFolder } from './stage.ts';

export async function exploreAsProcess(parts: ProcessParts, name: string): Promise<void> {
  const { store, engine, runtime } = parts;
  const { clock, logger } = runtime;
  const { signal } = new AbortController();
  const state = () => ({ version: engine.sampler.policyVersion, facts: {} });
  const joined = await joinRun({ store, role: 'explorer', name, clock, logger, state, signal });
  try {
    await explore(parts, joined, name);
  } finally {
    await joined.leave();
  }
}

async function explore(parts: ProcessParts, joined: JoinedRun, name: string): Promise<void> {
  const { store, engine, scenario } = parts;
  const { sampler } = engine;
  const { lost } = joined;
  const context = contextOf(parts, name, lost);
  const { stage, extensions } = context;
  const createModel = modelFactory(sampler, scenario.seed);
  const options = taskRunnerOptions(stage, context.runtime, extensions, createModel);
  const limits = createTimeLimits(stage.explorer);
  const rewardFn = (): undefined => undefined;
  const startTask = taskStarter({
    ...options,
    circuits: createEnvironmentCircuits({ settings: stage.explorer, ...context.runtime }),
    rewardFn,
    timeLimit: (task) => limits.limit(task),
    signal: lost,
  });
  await exploreLeased(stage, context.runtime, {
    store,
    joined,
    sampler,
    lost,
    signal: lost,
    scratch: path.join(jobFolder, name),
    onTaken: () => undefined,
    taskOf: async (leased) => taskOf(scenario, leased),
    startTask,
  });
}
