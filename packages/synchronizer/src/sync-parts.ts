/** Settings, state and transport, which the sync styles share. */
import type { Clock, Logger } from '@trinity-rft/core';
import type { Gate } from './gate.js';
import type { DrivenRules } from './rules/explore.js';
import type { SyncRules, Weights } from './rules/settings.js';

/** When both sides meet, by the names of a configuration's section `synchronizer`. */
export interface SynchronizerSettings extends SyncRules {
  /**
   * Longest wait for the other side; then it is reported, and where no bound forbids it, both
   * continue and meet the next time.
   */
  readonly syncTimeoutMs: number;
}

/** How weights get from the trainer to the explorer. */
export interface WeightTransport {
  /**
   * Trainer side: makes the current weights available as `version`, which has used up every explore
   * step up to `exploredUpTo`.
   */
  publish(version: number, exploredUpTo: number): Promise<void>;
  /** Explorer side: uses the weights published last, which are `version`. */
  adopt(version: number): Promise<void>;
}

export interface SynchronizerOptions {
  readonly settings: SynchronizerSettings;
  readonly transport: WeightTransport;
  /** True when the trainer waits for experiences that are not there. Asked only while it waits. */
  readonly starved: () => boolean;
  /**
   * The oldest explore step that has experiences which are neither trained on nor discarded;
   * undefined when there is none.
   */
  readonly oldestUnused: () => number | undefined;
  /** The trainer gets no experiences of later explore steps. */
  readonly releaseUpTo: (exploreStep: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type SyncOutcome = 'updated' | 'unchanged' | 'starved' | 'timeout' | 'trainer_stopped';

export interface SyncResult {
  readonly outcome: SyncOutcome;
  /** Version that the explorer uses from here on. */
  readonly version: number;
}

/** Versions are numbers of train steps; -1: none yet. */
export interface SyncState {
  trainStep: number;
  /** That the explorer uses, or used when the run was stopped. */
  explorerVersion: number;
  published: Weights;
  /** That the sampler has. */
  inUse: Weights;
  /** In the style `fixed`: explore step after which the explorer meets the trainer next. */
  boundary: number;
  /** In the other styles: the meeting point at which the explorer took weights last. */
  metAt: number;
  /** The last explore step whose experiences are stored. */
  exploredUpTo: number;
  /** The explore step that the explorer waits to begin. */
  wanted: number | undefined;
  trainerRuns: boolean;
  trainerWaits: boolean;
}

export interface SyncParts extends SynchronizerOptions {
  readonly gate: Gate;
  readonly state: SyncState;
}

/** In every style but `fixed`. */
export interface DrivenParts extends SyncParts {
  readonly settings: SynchronizerSettings & DrivenRules;
}

/** Actions of the two sides when they meet. */
export interface Style {
  start(): void;
  /** True when weights move between explore step `step` and the next one. */
  isBoundary(step: number): boolean;
  /** Between explore step `step` and the next one. */
  exploreBoundary(step: number, signal?: AbortSignal): Promise<SyncResult>;
  /** After `state.trainStep` has moved. */
  trainStepDone(signal?: AbortSignal): Promise<void>;
  /** Where weights move while runs are in flight. */
  readonly streaming?: Streaming;
  /** Runs `work` with weights that do not move. */
  withSteadyWeights<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when no weights are on their way. */
  close(): Promise<void>;
}

/** Exploring without meeting points: weights move while runs are in flight. */
export interface Streaming {
  mayBegin(step: number): boolean;
  /** Resolves when explore step `step` may begin. */
  whenItMay(step: number, signal?: AbortSignal): Promise<void>;
}

export const hasNewerWeights = ({ published, explorerVersion }: SyncState): boolean =>
  published.version > explorerVersion;
