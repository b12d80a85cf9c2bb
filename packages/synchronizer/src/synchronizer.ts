/** Synchronizes a trainer and an explorer: determines when weights are published and adopted. */
import { createGate } from './gate.js';
import { drivenStyle } from './driven-style.js';
import { fixedStyle } from './fixed-style.js';
import { boundaryBefore, isBoundary } from './rules/settings.js';
import { consumedUpTo } from './rules/train.js';
import {
  type Streaming,
  type SynchronizerOptions,
  type SyncParts,
  type SyncResult,
  type SyncState,
} from './sync-parts.js';

/** Progress of the trainer and the explorer at the start. */
interface SyncStart {
  /**
   * Number of train steps done. It is also the version of the weights that trainer and sampler
   * start with.
   */
  readonly trainStep: number;
  /** Version that the explorer last used. */
  readonly explorerVersion: number;
  /**
   * Explore step after which the next synchronization point lies. Used only by the style `fixed`.
   */
  readonly boundary: number;
  /** The last explore step whose experiences are stored. @default 0 */
  readonly storedUpTo?: number;
}

export interface Synchronizer {
  start(at: SyncStart): Promise<void>;
  /**
   * Returns true if weights may move between explore step `step` and the next one, when there are
   * no rollouts in progress.
   */
  isBoundary(step: number): boolean;
  /**
   * Returns true if a synchronization point lies between explore step `step` and the next one,
   * whether or not weights move there. Never true in the style `fully_async`.
   */
  isSyncPoint(step: number): boolean;
  /**
   * Called by the explorer between explore step `step` and the next one, when there are no rollouts
   * in progress. Waits for the trainer if necessary, and switches weights.
   */
  exploreBoundary(step: number, signal?: AbortSignal): Promise<SyncResult>;
  /** Present in the style `fully_async`, which has no synchronization points. */
  readonly streaming?: Streaming;
  /**
   * Called by the explorer. Executes `work`, such as an evaluation, with weights that do not
   * change.
   */
  withSteadyWeights<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Called by the explorer before the experiences of explore step `step` are stored, if the trainer
   * must not use them yet. They are withheld until {@link exploreStepStored}.
   */
  hold(step: number): void;
  /**
   * Called by the explorer, in order, when the experiences of explore step `step` are stored and
   * the trainer may use them.
   */
  exploreStepStored(step: number): void;
  /** Called by the trainer after each train step. Publishes weights if they are due. */
  trainStepDone(step: number, signal?: AbortSignal): Promise<void>;
  /** Called by the trainer with true before it waits for experiences, and with false afterwards. */
  setTrainerWaiting(waiting: boolean): void;
  trainerStopped(): void;
  /**
   * Reports a failure of the trainer or the explorer. All current and later waits then reject with
   * a SyncError whose cause is `error`.
   */
  fail(error: Error): void;
  /** Resolves when no weights are being moved. */
  close(): Promise<void>;
}

/**
 * Creates a synchronizer. The style in `options.settings` determines when explorer and trainer wait
 * for each other.
 */
export function createSynchronizer(options: SynchronizerOptions): Synchronizer {
  const { settings, transport } = options;
  const none = { version: -1, consumedUpTo: 0 };
  const state: SyncState = {
    trainStep: 0,
    explorerVersion: -1,
    published: none,
    inUse: none,
    boundary: settings.syncOffset + settings.explorerSyncInterval,
    lastSyncPoint: 0,
    storedUpTo: 0,
    held: Infinity,
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
    start: async ({ storedUpTo = 0, ...at }) => {
      const version = at.trainStep;
      const oldestUnusedStep = options.oldestUnusedStep();
      const weights = { version, consumedUpTo: consumedUpTo({ storedUpTo, oldestUnusedStep }) };
      await transport.publish(version, weights.consumedUpTo);
      const lastSyncPoint = boundaryBefore(settings, storedUpTo);
      update({ ...at, storedUpTo, lastSyncPoint, published: weights, inUse: weights });
      style.release();
    },
    isBoundary: (step) => style.isBoundary(step),
    isSyncPoint: (step) => !style.streaming && isBoundary(settings, step),
    exploreBoundary: (step, signal) => style.exploreBoundary(step, signal),
    streaming: style.streaming,
    withSteadyWeights: (work) => style.withSteadyWeights(work),
    hold: (step) => {
      update({ storedUpTo: step - 1, held: step });
      style.release();
    },
    exploreStepStored: (step) => {
      const wasHeld = state.held < Infinity;
      update({ storedUpTo: step, held: Infinity });
      if (wasHeld) style.release();
    },
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
