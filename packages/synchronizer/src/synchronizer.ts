/** When weights move: the meeting points of a trainer and an explorer. */
import { explorerDrivenStyle } from './explorer-driven-style.js';
import { fixedStyle } from './fixed-style.js';
import { createGate } from './gate.js';
import {
  publish,
  type Style,
  type SynchronizerOptions,
  type SyncParts,
  type SyncResult,
  type SyncState,
  type SyncStyle,
} from './sync-parts.js';

/** Where both sides stand. */
interface SyncStart {
  /** Version of the weights of trainer and sampler. */
  readonly trainStep: number;
  /** Version that the explorer last used. */
  readonly explorerVersion: number;
  /** Explore step after which the explorer meets the trainer next. */
  readonly boundary: number;
}

export interface Synchronizer {
  start(at: SyncStart): Promise<void>;
  /** True when explore step `step` ends at a boundary. */
  isBoundary(step: number): boolean;
  /** Explorer, at a boundary with nothing in flight: waits for its turn and switches weights. */
  exploreBoundary(signal?: AbortSignal): Promise<SyncResult>;
  /** Trainer, after each train step: publishes when it is asked to. */
  trainStepDone(step: number, signal?: AbortSignal): Promise<void>;
  /** Trainer, around waiting for experiences. */
  setTrainerWaiting(waiting: boolean): void;
  trainerStopped(): void;
  /** One side failed: the waits of the other side reject with this cause. */
  fail(error: Error): void;
}

const styles: Readonly<Record<SyncStyle, (parts: SyncParts) => Style>> = {
  fixed: fixedStyle,
  explorer_driven: explorerDrivenStyle,
};

/** Says when explorer and trainer wait for each other, by the style of `options.settings`. */
export function createSynchronizer(options: SynchronizerOptions): Synchronizer {
  const { syncStyle, syncInterval, syncOffset } = options.settings;
  const state: SyncState = {
    trainStep: 0,
    publishedVersion: -1,
    explorerVersion: -1,
    adoptedVersion: -1,
    boundary: syncOffset + syncInterval,
    explorerAsks: false,
    trainerRuns: true,
    trainerWaits: false,
  };
  const gate = createGate();
  const parts: SyncParts = { ...options, gate, state };
  const style = styles[syncStyle](parts);
  const update = (change: Partial<SyncState>): void => {
    Object.assign(state, change);
    gate.notify();
  };

  return {
    start: async (at) => {
      update({ ...at, adoptedVersion: at.trainStep });
      await publish(parts, at.trainStep);
      style.start();
      gate.notify();
    },
    isBoundary: (step) => step > syncOffset && (step - syncOffset) % syncInterval === 0,
    exploreBoundary: async (signal) => {
      update({ explorerAsks: true });
      try {
        return await style.exploreBoundary(signal);
      } finally {
        update({ explorerAsks: false });
      }
    },
    trainStepDone: async (step, signal) => {
      state.trainStep = step;
      await style.trainStepDone(signal);
      gate.notify();
    },
    setTrainerWaiting: (waiting) => update({ trainerWaits: waiting }),
    trainerStopped: () => update({ trainerRuns: false }),
    fail: (error) => gate.fail(error),
  };
}
