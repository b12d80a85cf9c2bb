/** When weights move: the meeting points of a trainer and an explorer. */
import type { Clock, Logger } from '@trinity-rft/core';
import { createGate, type Gate } from './gate.js';
import type { WeightTransport } from './transport.js';

/**
 * `fixed`: every `syncInterval` train steps meets every `syncInterval` explore steps (after the
 * first `syncOffset`), both sides wait. `explorer_driven`: the explorer asks at its boundaries, the trainer
 * answers between two steps with what it has.
 */
export type SyncStyle = 'fixed' | 'explorer_driven';

/** When both sides meet, by the names of a configuration's section `synchronizer`. */
export interface SynchronizerSettings {
  readonly syncStyle: SyncStyle;
  /** Steps between two meetings, at least 1. */
  readonly syncInterval: number;
  /** Explore steps the explorer may be ahead. */
  readonly syncOffset: number;
  /** Longest wait for the other side; then both continue and meet the next time. */
  readonly syncTimeoutMs: number;
}

export interface SynchronizerOptions {
  readonly settings: SynchronizerSettings;
  readonly transport: WeightTransport;
  /** True when the trainer waits for experiences that are not there. Asked only while it waits. */
  readonly starved: () => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type SyncOutcome = 'updated' | 'unchanged' | 'starved' | 'timeout' | 'trainer_stopped';

export interface SyncResult {
  readonly outcome: SyncOutcome;
  /** Version the explorer uses from here on. */
  readonly version: number;
}

export interface Synchronizer {
  /**
   * Both sides start here: the trainer stands at `trainStep`, the explorer last used
   * `explorerVersion`.
   */
  start(state: { readonly trainStep: number; readonly explorerVersion: number }): Promise<void>;
  /** True when explore step `step` ends at a boundary. */
  isBoundary(step: number): boolean;
  /** Explorer, at a boundary with nothing in flight: waits for its turn and switches weights. */
  exploreBoundary(signal?: AbortSignal): Promise<SyncResult>;
  explorerStopped(): void;
  /** Trainer, after each optimizer step: publishes when it is due. */
  trainStepDone(step: number, signal?: AbortSignal): Promise<void>;
  /** Trainer, around waiting for experiences. */
  setTrainerWaiting(waiting: boolean): void;
  trainerStopped(): void;
  /** One side died: the other side's waits reject with this cause. */
  fail(error: Error): void;
}

interface State {
  trainStep: number;
  published: number;
  explorerVersion: number;
  explorerAsks: boolean;
  explorerRuns: boolean;
  trainerRuns: boolean;
  trainerWaits: boolean;
}

interface Parts extends SynchronizerOptions {
  readonly gate: Gate;
  readonly state: State;
}

export function createSynchronizer(options: SynchronizerOptions): Synchronizer {
  const state: State = {
    trainStep: 0,
    published: -1,
    explorerVersion: -1,
    explorerAsks: false,
    explorerRuns: true,
    trainerRuns: true,
    trainerWaits: false,
  };
  const parts: Parts = { ...options, gate: createGate(), state };
  const { gate } = parts;
  const { syncInterval, syncOffset } = options.settings;
  const style =
    options.settings.syncStyle === 'fixed' ? fixedStyle(parts) : explorerDrivenStyle(parts);

  return {
    start: async ({ trainStep, explorerVersion }) => {
      state.trainStep = trainStep;
      state.explorerVersion = explorerVersion;
      await publish(parts, trainStep);
      gate.notify();
    },
    isBoundary: (step) => step > syncOffset && (step - syncOffset) % syncInterval === 0,
    exploreBoundary: async (signal) => {
      state.explorerAsks = true;
      gate.notify();
      try {
        return await style.exploreBoundary(signal);
      } finally {
        state.explorerAsks = false;
        gate.notify();
      }
    },
    explorerStopped: () => {
      state.explorerRuns = false;
      gate.notify();
    },
    trainStepDone: async (step, signal) => {
      state.trainStep = step;
      await style.trainStepDone(signal);
      gate.notify();
    },
    setTrainerWaiting: (waiting) => {
      state.trainerWaits = waiting;
      gate.notify();
    },
    trainerStopped: () => {
      state.trainerRuns = false;
      gate.notify();
    },
    fail: (error) => gate.fail(error),
  };
}

interface Style {
  exploreBoundary(signal?: AbortSignal): Promise<SyncResult>;
  trainStepDone(signal?: AbortSignal): Promise<void>;
}

async function publish({ transport, state }: Parts, version: number): Promise<void> {
  await transport.publish(version);
  state.published = version;
}

async function adopt({ transport, state }: Parts): Promise<SyncResult> {
  const version = state.published;
  await transport.adopt(version);
  state.explorerVersion = version;
  return { outcome: 'updated', version };
}

/**
 * A rendezvous: the trainer does not pass a publication that the explorer has not taken, so which
 * version the explorer gets does not depend on who is faster, and a resumed run meets at the same
 * points.
 */
function fixedStyle(parts: Parts): Style {
  const { state, gate, clock, logger } = parts;
  const { syncInterval, syncTimeoutMs: timeoutMs } = parts.settings;
  return {
    exploreBoundary: async (signal) => {
      const stalled = async (): Promise<boolean> => state.trainerWaits && (await parts.starved());
      const newer = (): boolean => state.published > state.explorerVersion;
      const arrived = await gate.wait(
        async () => newer() || !state.trainerRuns || (await stalled()),
        {
          what: `weights newer than version ${state.explorerVersion} from the trainer`,
          timeoutMs,
          clock,
          signal,
        },
      );
      if (newer()) return adopt(parts);
      const version = state.explorerVersion;
      if (!state.trainerRuns) return { outcome: 'trainer_stopped', version };
      if (arrived) return { outcome: 'starved', version };
      logger.warn(
        `No weights newer than version ${version} within ${timeoutMs} ms; exploring goes on with the old ones.`,
      );
      return { outcome: 'timeout', version };
    },
    trainStepDone: async (signal) => {
      const { trainStep } = state;
      if (trainStep % syncInterval !== 0) return;
      await publish(parts, trainStep);
      gate.notify();
      const met = await gate.wait(() => state.explorerVersion >= trainStep || !state.explorerRuns, {
        what: `the explorer to take version ${trainStep}`,
        timeoutMs,
        clock,
        signal,
      });
      if (!met)
        logger.warn(
          `The explorer did not take version ${trainStep} within ${timeoutMs} ms; training goes on.`,
        );
    },
  };
}

/**
 * The trainer never waits; a request that finds no new step is answered with the weights the
 * explorer has.
 */
function explorerDrivenStyle(parts: Parts): Style {
  const { state, gate, clock, logger } = parts;
  const { syncTimeoutMs: timeoutMs } = parts.settings;
  let publishing: Promise<void> | undefined;
  const answer = async (): Promise<void> => {
    if (!state.explorerAsks || state.trainStep <= state.published) return;
    publishing ??= publish(parts, state.trainStep).finally(() => {
      publishing = undefined;
    });
    await publishing;
  };
  return {
    exploreBoundary: async (signal) => {
      const asked = state.trainStep;
      const arrived = await gate.wait(
        async () => {
          // A trainer that waits for experiences stands between two steps: it can answer at once.
          if (state.trainerWaits) await answer();
          return (
            state.published > state.explorerVersion ||
            state.trainerWaits ||
            state.trainStep > asked ||
            !state.trainerRuns
          );
        },
        { what: 'the trainer to finish its step', timeoutMs, clock, signal },
      );
      // The request is answered: what is published while these weights are fetched could take them
      // away.
      state.explorerAsks = false;
      if (state.published > state.explorerVersion) return adopt(parts);
      if (!arrived)
        logger.warn(
          `The trainer did not finish its step within ${timeoutMs} ms; exploring goes on with the old weights.`,
        );
      const outcome = arrived ? (state.trainerRuns ? 'unchanged' : 'trainer_stopped') : 'timeout';
      return { outcome, version: state.explorerVersion };
    },
    trainStepDone: answer,
  };
}
