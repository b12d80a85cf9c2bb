/** Runs the trainer as a simulated process: mode `train` with remote explorers and a simulated engine. */
import { mkdir } from 'node:fs/promises';
import type { StageContext } from '../../packages/launcher/src/context/stage-context.ts';
import { trainBeside } from '../../packages/launcher/src/modes/distributed/train-beside.ts';
import { loopOver } from '../../packages/launcher/src/modes/both.ts';
import type {
  DataParts,
  RemoteExploration,
  LoopParts,
} from '../../packages/launcher/src/modes/both/open.ts';
import { algorithm, feedOf, type ProcessParts } from './parts.ts';
import { contextOf, jobFolder } from './stage.ts';

export async function trainAsProcess(parts: ProcessParts, name: string): Promise<void> {
  const context = contextOf(parts, name, new AbortController().signal);
  const { stage, runtime, signal } = context;
  await trainBeside(stage, { store: parts.store, runtime, signal }, (remote) =>
    train(parts, context, remote),
  );
}

/**
 * Runs the trainer's loop on the tasks of the scenario.
 * @param remote opens the exploration by other processes
 */
export async function train(
  parts: Omit<ProcessParts, 'store'>,
  context: StageContext,
  remote: RemoteExploration,
): ReturnType<typeof loopOver> {
  const { engine, scenario } = parts;
  await mkdir(jobFolder, { recursive: true });
  const store = remote.share(parts.openExperiences());
  const format = { tokenizer: { encode: () => [1, 2, 3, 4, 5, 0, 1, 3] } } as never;
  const data: DataParts = { format, tasks: feedOf(scenario) as never, store };
  const result = await loopOver(context, data, async () => {
    const side = await remote.openExploreSide({ engine, format, store }, noStack);
    return loopParts(parts, data, side);
  });
  await store.close();
  return result;
}

/** Stack without cleanup, because nothing that is opened needs to be closed. */
const noStack: Parameters<RemoteExploration['openExploreSide']>[1] = {
  use: (resource) => resource,
  close: () => Promise.resolve(),
};

function loopParts(
  { engine }: Pick<ProcessParts, 'engine'>,
  data: DataParts,
  { runs, transport, failed }: Awaited<ReturnType<RemoteExploration['openExploreSide']>>,
): LoopParts {
  const filter = () => ({ unit: 'tasks', maxExploreSteps: 1 }) as const;
  const close = (): Promise<void> => Promise.resolve();
  return {
    ...data,
    algorithm: algorithm as never,
    sampling: { source: data.store, filter, close },
    engine,
    critic: undefined,
    runs,
    transport,
    engineFailed: failed,
    close,
  };
}
