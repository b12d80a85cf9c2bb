/** Runs mode `both` without faults: the expected result of a run in the style `fixed`. */
import { createRuntime } from '../../packages/core/src/index.ts';
import type { RemoteExploration } from '../../packages/launcher/src/modes/both/open.ts';
import { createTransport } from '../../packages/launcher/src/assembly/transport.ts';
import { formatDisk } from './disk.ts';
import { digestOf, openModel } from './engine.ts';
import { experienceFile } from './experience-file.ts';
import { createKernel, newProcess } from './kernel.ts';
import { modelFactory, type ProcessParts } from './parts.ts';
import type { Scenario } from './scenario.ts';
import { contextOf } from './stage.ts';
import { train } from './trainer-process.ts';

export interface RunResult {
  readonly trainSteps: number;
  /** Digest of the last weights. */
  readonly weights: string;
}

export async function inOneProcess(scenario: Scenario): Promise<RunResult> {
  const kernel = createKernel(scenario.seed);
  formatDisk(kernel);
  const process = newProcess('both');
  const engine = openModel();
  const parts: Omit<ProcessParts, 'store'> = {
    process,
    scenario,
    engine,
    openExperiences: () => experienceFile().open(process),
    runtime: createRuntime({ seed: scenario.seed, clock: kernel.clock(process) }),
  };
  let trainSteps: number | undefined;
  let failure: unknown;
  const context = contextOf(parts, 'both', new AbortController().signal);
  const both: RemoteExploration = {
    share: (store) => store,
    openExploreSide: async () => ({
      runs: {
        createModel: modelFactory(engine.sampler, scenario.seed),
        policyVersion: () => engine.sampler.policyVersion,
      },
      transport: createTransport(context.stage, engine),
      failed: new AbortController().signal,
    }),
  };
  const main = async (): Promise<void> => {
    ({ trainStep: trainSteps } = await train(parts, context, both));
  };
  kernel.spawn(process, main).catch((error: unknown) => {
    failure = error;
  });
  const isOver = (): boolean => trainSteps !== undefined || failure !== undefined;
  await kernel.run({ deadline: Infinity, isOver, afterEvent: () => undefined });
  if (trainSteps === undefined) throw new Error('Mode both did not end.', { cause: failure });
  return { trainSteps, weights: digestOf(engine.weights()) };
}
