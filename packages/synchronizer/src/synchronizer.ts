/** When weights move: the meeting points of a trainer and an explorer. */
import { createGate } from './gate.js';
import { usedUpTo } from './delivery.js';
import { drivenStyle } from './driven-style.js';
import { fixedStyle } from './fixed-style.js';
import { boundaryBefore } from './rules/settings.js';
import {
  type Streaming,
  type SynchronizerOptions,
  type SyncParts,
  type SyncResult,
  type SyncState,
} from './sync-parts.js';

/** Where both sides stand. */
interface SyncStart {
  /** Version of the weights of trainer and sampler. */
  readonly trainStep: number;
  /** Version that the explorer last used. */
  readonly explorerVersion: number;
  /** Explore step after which the explorer meets the trainer next; the style `fixed` only. */
  readonly boundary: number;
  /** The last explore step whose experiences are stored. @default 0 */
  readonly exploredUpTo?: number;
}

export interface Synchronizer {
  start(at: SyncStart): Promise<void>;
  /** True when weights move between explore step `step` and the next one, with no run in flight. */
  isBoundary(step: number): boolean;
  /**
   * Explorer, between explore step `step` and the next one, with no run in flight: waits for its turn
   * and switches weights.
   */
  exploreBoundary(step: number, signal?: AbortSignal): Promise<SyncResult>;
  /** In the style `fully_async`, which has no boundaries. */
  readonly streaming?: Streaming;
  /** Explorer: runs `work`, such as an evaluation, with weights that do not move. */
  withSteadyWeights<T>(work: () => Promise<T>): Promise<T>;
  /** Explorer, in order: the experiences of explore step `step` are stored. */
  exploreStepStored(step: number): void;
  /** Trainer, after each train step: publishes if it is time. */
  trainStepDone(step: number, signal?: AbortSignal): Promise<void>;
  /** Trainer, around waiting for experiences. */
  setTrainerWaiting(waiting: boolean): void;
  trainerStopped(): void;
  /** One side failed: the waits of the other side reject with this cause. */
  fail(error: Error): void;
  /** Resolves when no weights are on their way. */
  close(): Promise<void>;
}

/** Says when explorer and trainer wait for each other, by the style of `options.settings`. */
export function createSynchronizer(options: SynchronizerOptions): Synchronizer {
  const { settings, transport } = options;
  const none = { version: -1, exploredUpTo: 0 };
  const state: SyncState = {
    trainStep: 0,
    explorerVersion: -1,
    published: none,
    inUse: none,
    boundary: settings.syncOffset + settings.explorerSyncInterval,
    metAt: 0,
    exploredUpTo: 0,
    wanted: undefined,
    trainerRuns: true,
    trainerWaits: false,
  };
  const gate = createGate();
  const parts: SyncParts = { ...options, gate, state };
  const { syncStyle } = settings;
  const style =
    syncStyle === 'fixed'
      ? fixedStyle(parts)
      : drivenStyle({ ...parts, settings: { ...settings, syncStyle } });
  const update = (change: Partial<SyncState>): void => {
    Object.assign(state, change);
    gate.notify();
  };

  return {
    start: async ({ exploredUpTo = 0, ...at }) => {
      const version = at.trainStep;
      const weights = { version, exploredUpTo: usedUpTo(exploredUpTo, options.oldestUnused()) };
      await transport.publish(version, weights.exploredUpTo);
      const metAt = boundaryBefore(settings, exploredUpTo);
      update({ ...at, exploredUpTo, metAt, published: weights, inUse: weights });
      style.start();
    },
    isBoundary: (step) => style.isBoundary(step),
    exploreBoundary: (step, signal) => style.exploreBoundary(step, signal),
    streaming: style.streaming,
    withSteadyWeights: (work) => style.withSteadyWeights(work),
    exploreStepStored: (step) => update({ exploredUpTo: step }),
    trainStepDone: async (step, signal) => {
      state.trainStep = step;
      await style.trainStepDone(signal);
      gate.notify();
    },
    setTrainerWaiting: (waiting) => update({ trainerWaits: waiting }),
    trainerStopped: () => update({ trainerRuns: false }),
    fail: (error) => gate.fail(error),
    close: () => style.close(),
  };
}
