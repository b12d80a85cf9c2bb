/** Mode `train` beside explorers: plans the tasks, and trains on what explorers make of them. */
import { rm } from 'node:fs/promises';
import { InvariantError, type RunStore } from '@trinity-rft/core/internal';
import { lateRewardsFile } from '../assembly/data/late-rewards.js';
import type { RunSide } from '../assembly/explorer-options.js';
import { withMadeTasks } from '../assembly/task-pipeline/make-tasks.js';
import { areShared, shareTasks } from '../assembly/task-pipeline/share-tasks.js';
import { disposable } from '../context/disposable.js';
import type { StageContext, StageResult } from '../context/stage-context.js';
import { agreementOf } from './apart/agreement.js';
import { forwardRewards } from './apart/forward-rewards.js';
import { lookEveryMs, openStageStore } from './apart/open-store.js';
import { publishingTransport, weightsRoot } from './apart/publish-weights.js';
import { remoteTasks } from './apart/remote-tasks.js';
import { takeSeat, type Seat } from './apart/seat.js';
import { shareStore } from './apart/share-store.js';
import { runLoop, type Elsewhere } from './both.js';

export async function runTrainer(context: StageContext): Promise<StageResult> {
  const { stage, runtime, signal } = context;
  await using store = disposable(await openStageStore(context));
  const progress: Progress = { version: 0, exploreStep: 0 };
  const { clock, logger } = runtime;
  const state = () => ({
    version: progress.version,
    facts: { exploreStep: progress.exploreStep },
  });
  const name = 'trainer';
  const agreement = await agreementOf(stage);
  const own = { role: 'trainer', name, agreement } as const;
  const seat = await takeSeat({ ...own, store, clock, logger, state, signal });
  const ended = new AbortController();
  const forwarding = forwardRewards({
    store,
    member: seat.member,
    file: lateRewardsFile(stage),
    exploreStep: () => progress.exploreStep,
    clock,
    logger,
    everyMs: lookEveryMs,
    signal: AbortSignal.any([ended.signal, seat.lost]),
  });
  try {
    const hasBegun = context.hasBegun === true || (await areShared(store));
    const made = await seat.waitFor({ what: 'the task pipeline', on: undefined }, () =>
      withMadeTasks({ ...context, hasBegun }),
    );
    await shareTasks(stage, { store, member: seat.member });
    const result = await runLoop(made, await exploredElsewhere(made, { store, seat, progress }));
    if (!result.interrupted) {
      await store.finish(seat.member, { trainStep: result.trainStep });
      await rm(weightsRoot(stage), { recursive: true, force: true });
    }
    return result;
  } finally {
    ended.abort();
    await forwarding;
    await seat.leave();
  }
}

interface Progress {
  /** Version that explorers use from here on. */
  version: number;
  /** The last one whose experiences are stored. */
  exploreStep: number;
}

interface RunParts {
  readonly store: RunStore;
  readonly seat: Seat;
  readonly progress: Progress;
}

async function exploredElsewhere(
  { stage, runtime }: StageContext,
  { store, seat, progress }: RunParts,
): Promise<Elsewhere> {
  const { member } = seat;
  const version = () => progress.version;
  const { overRollout } = stage.explorer;
  const { clock } = runtime;
  const remote = await remoteTasks({ store, seat, version, overRollout, clock, lookEveryMs });
  const takeCollected = (step: number) => remote.takeCollected(step);
  const onStored = (step: number): void => {
    progress.exploreStep = step;
  };
  const onAdopt = (version: number): void => {
    progress.version = version;
  };
  const runs: RunSide = {
    createModel: () => {
      throw new InvariantError('Runs are made by explorers.', { code: 'RUNS_ELSEWHERE' });
    },
    policyVersion: () => progress.version,
    runTasks: (tasks, signal) => remote.run(tasks, signal),
  };
  return {
    share: (inner) => shareStore(inner, { store, member, takeCollected, onStored }),
    openExploreSide: async (_context, { engine: { trainer, sampler }, format }) => {
      const { maxModelLen } = sampler;
      const own = { maxModelLen, onAdopt };
      const transport = publishingTransport({ stage, store, member, trainer, format, ...own });
      return { runs, transport, failed: seat.lost };
    },
  };
}
