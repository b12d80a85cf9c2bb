/** Settings, state and transport that all sync styles use. */
import type { Clock, Logger } from '@trinity-rft/core';
import type { Gate } from './gate.js';
import type { DrivenRules } from './rules/explore.js';
import type { SyncRules, Weights } from './rules/settings.js';

/**
 * Settings of the synchronization. Field names are the camelCase forms of those in the
 * configuration's section `synchronizer`.
 */
export interface SynchronizerSettings extends SyncRules {
  /**
   * Maximum time that the explorer waits for the trainer, in ms. After that, a warning is logged,
   * and exploration continues with the old weights until the next synchronization point, unless
   * `max_staleness` forbids it.
   */
  readonly syncTimeoutMs: number;
}

/** Moves weights from the trainer to the explorer. */
export interface WeightTransport {
  /**
   * Called by the trainer. Makes the current weights available as `version`. `consumedUpTo` is the
   * last explore step whose experiences had been consumed when these weights were made.
   */
  publish(version: number, consumedUpTo: number): Promise<void>;
  /**
   * Called by the explorer. Switches to the most recently published weights, whose version is
   * `version`.
   */
  adopt(version: number): Promise<void>;
}

export interface SynchronizerOptions {
  readonly settings: SynchronizerSettings;
  readonly transport: WeightTransport;
  /**
   * Returns true if the remaining experiences are too few for a train step, so that the trainer
   * waits for new ones. Called only while the trainer waits.
   */
  readonly starved: () => boolean;
  /**
   * Returns the oldest explore step with experiences that are neither trained on nor discarded, or
   * undefined if there is none.
   */
  readonly oldestUnusedStep: () => number | undefined;
  /**
   * Makes experiences of explore steps up to `exploreStep` available to the trainer, and withholds
   * those of later steps.
   */
  readonly releaseUpTo: (exploreStep: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type SyncOutcome = 'updated' | 'unchanged' | 'starved' | 'timeout' | 'trainer_stopped';

export interface SyncResult {
  readonly outcome: SyncOutcome;
  /** Version of the weights that the explorer uses from now on. */
  readonly version: number;
}

/**
 * State that all sync styles use. A version is the number of train steps done; -1 if there are no
 * weights yet.
 */
export interface SyncState {
  trainStep: number;
  /**
   * Version that the explorer uses, or that it last used before the training run was stopped. Used
   * only by the style `fixed`.
   */
  explorerVersion: number;
  published: Weights;
  /** Weights that the sampler has. */
  inUse: Weights;
  /**
   * Explore step after which the next synchronization point lies. Used only by the style `fixed`.
   */
  boundary: number;
  /** The last synchronization point that the explorer has passed. Not used by the style `fixed`. */
  lastSyncPoint: number;
  /** The last explore step whose experiences are stored and not held. */
  storedUpTo: number;
  /** The explore step that is held, see `Synchronizer.hold`; Infinity if none is. */
  held: number;
  /** Explore step that the explorer is waiting to begin; undefined if it is not waiting. */
  wanted: { readonly step: number } | undefined;
  trainerRuns: boolean;
  trainerWaits: boolean;
}

export interface SyncParts extends SynchronizerOptions {
  readonly gate: Gate;
  readonly state: SyncState;
}

/** Settings, state and transport of every sync style except `fixed`. */
export interface DrivenParts extends SyncParts {
  readonly settings: SynchronizerSettings & DrivenRules;
}

/** Implementation of one or more sync styles. */
export interface Style {
  /** Releases the experiences that the trainer may use now, and withholds the others. */
  release(): void;
  /** Returns true if weights may move between explore step `step` and the next one. */
  isBoundary(step: number): boolean;
  /** Called between explore step `step` and the next one. */
  exploreBoundary(step: number, signal?: AbortSignal): Promise<SyncResult>;
  /** Called after `state.trainStep` has changed. */
  trainStepDone(signal?: AbortSignal): Promise<void>;
  /** Present if the style moves weights during rollouts. */
  readonly streaming?: Streaming;
  /** Executes `work` with weights that do not change. */
  withSteadyWeights<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when no weights are being moved. */
  close(): Promise<void>;
}

/** Controls when explore steps may begin in styles without synchronization points. */
export interface Streaming {
  mayBegin(step: number): boolean;
  /** Resolves as soon as explore step `step` may begin. */
  whenItMay(step: number, signal?: AbortSignal): Promise<void>;
}
