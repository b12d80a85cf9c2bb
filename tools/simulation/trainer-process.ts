/** The trainer as a process of its own: mode `train` beside explorers, with a simulated engine. */
import { mkdir, rm } from 'node:fs/promises';
import type { ExperienceStore } from '../../packages/core/src/index.ts';
import type { StageContext } from '../../packages/launcher/src/context/stage-context.ts';
import { lookEveryMs } from '../../packages/launcher/src/modes/apart/open-store.ts';
import {
  publishingTransport,
  weightsRoot,
} from '../../packages/launcher/src/modes/apart/publish-weights.ts';
import { remoteTasks } from '../../packages/launcher/src/modes/apart/remote-tasks.ts';
import { takeSeat, type Seat } from '../../packages/launcher/src/modes/apart/seat.ts';
import { shareStore } from '../../packages/launcher/src/modes/apart/share-store.ts';
import { assembleLoop } from '../../packages/launcher/src/modes/both/loop.ts';
import type { LoopParts } from '../../packages/launcher/src/modes/both/open.ts';
import { assertResumable, readProgress } from '../../packages/launcher/src/modes/both/progress.ts';
import { superviseBoth } from '../../packages/launcher/src/modes/both/supervise.ts';
import { algorithm, feedOf, type ProcessParts } from './parts.ts';
import { contextOf, jobFolder } from './stage.ts';

export async function trainAsProcess(parts: ProcessParts, name: string): Promise<void> {
  const { store, runtime } = parts;
  const { clock, logger } = runtime;
  const { signal } = new AbortController();
  const progress = { version: 0, exploreStep: 0 };
  const state = () => ({ version: progress.version, facts: {} });
  const seat = await takeSeat({ store, role: 'trainer', name, clock, logger, state, signal });
  try {
    await mkdir(jobFolder, { recursive: true });
    const context = contextOf(parts, name, signal);
    const inner = parts.openExperiences();
    const trainStep = await train(parts, { context, inner, seat, progress });
    await inner.close();
    await store.finish(seat.member, { trainStep });
    await rm(weightsRoot(context.stage), { recursive: true, force: true });
  } finally {
    await seat.leave();
  }
}

interface TrainParts {
  readonly context: StageContext;
  readonly inner: ExperienceStore;
  readonly seat: Seat;
  readonly progress: { version: number; exploreStep: number };
}

/** Resolves with the last train step. */
async function train(parts: ProcessParts, trained: TrainParts): Promise<number> {
  const { context, inner, seat, progress } = trained;
  const remote = await remoteTasks({
    store: parts.store,
    seat,
    version: () => progress.version,
    clock: parts.runtime.clock,
    lookEveryMs,
  });
  const store = shareStore(inner, {
    store: parts.store,
    member: seat.member,
    takeCollected: (step) => remote.takeCollected(step),
    onStored: (step) => {
      progress.exploreStep = step;
    },
  });
  const found = await readProgress(context, store);
  assertResumable(context, found);
  const {
    sink: _sink,
    createEvaluator: _evaluator,
    ...loop
  } = await assembleLoop(context, loopParts(parts, trained, { store, remote }), found);
  const { explorer: state } = found;
  const interrupt = context.signal;
  const { step } = await superviseBoth({
    ...loop,
    store,
    state,
    interrupt,
    engineFailed: seat.lost,
  });
  return step;
}

type Remote = Awaited<ReturnType<typeof remoteTasks>>;

function loopParts(
  parts: ProcessParts,
  { context, seat, progress }: TrainParts,
  { store, remote }: { readonly store: ExperienceStore; readonly remote: Remote },
): LoopParts {
  const { engine, scenario } = parts;
  const format = { tokenizer: { encode: () => [1, 2, 3, 4, 5, 0, 1, 3] } };
  const transport = publishingTransport({
    stage: context.stage,
    store: parts.store,
    member: seat.member,
    trainer: engine.trainer,
    format: format as never,
    maxModelLen: 64,
    onAdopt: (version) => {
      progress.version = version;
    },
  });
  const filter = () => ({ unit: 'tasks', maxExploreSteps: 1 }) as const;
  const close = (): Promise<void> => Promise.resolve();
  return {
    format: format as never,
    tasks: feedOf(scenario) as never,
    store,
    algorithm: algorithm as never,
    sampling: { source: store, filter, close },
    engine,
    critic: undefined,
    lateRewards: undefined as never,
    runs: {
      createModel: () => {
        throw new Error('Runs are made by explorers.');
      },
      policyVersion: () => progress.version,
      runTasks: (tasks, signal) => remote.run(tasks, signal),
    },
    transport,
    engineFailed: seat.lost,
    close,
  };
}
