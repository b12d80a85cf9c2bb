/** Settings, state and transport, which both sync styles share. */
import type { Clock, Logger } from '@trinity-rft/core';
import type { Gate } from './gate.js';

/**
 * `fixed`: every `syncInterval` explore steps (after the first `syncOffset`) the explorer waits until
 * they have been trained on, and the trainer waits for the explorer. `explorer_driven`: the explorer asks at its boundaries,
 * and the trainer answers between two steps with the weights it has.
 */
export type SyncStyle = 'fixed' | 'explorer_driven';

/** When both sides meet, by the names of a configuration's section `synchronizer`. */
export interface SynchronizerSettings {
  readonly syncStyle: SyncStyle;
  /** Explore steps between two meetings, at least 1. */
  readonly syncInterval: number;
  /** Explore steps that the explorer may be ahead. */
  readonly syncOffset: number;
  /** Longest wait for the other side; then both continue and meet the next time. */
  readonly syncTimeoutMs: number;
}

/** How weights get from the trainer to the explorer. */
export interface WeightTransport {
  /** Trainer side: makes the current weights available as `version`. */
  publish(version: number): Promise<void>;
  /** Explorer side: uses the weights published last, which are `version`. */
  adopt(version: number): Promise<void>;
}

export interface SynchronizerOptions {
  readonly settings: SynchronizerSettings;
  readonly transport: WeightTransport;
  /** True when the trainer waits for experiences that are not there. Asked only while it waits. */
  readonly starved: () => boolean;
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
  publishedVersion: number;
  /** That the explorer uses, or used when the run was stopped. */
  explorerVersion: number;
  /** That the sampler has. */
  adoptedVersion: number;
  /** Explore step after which the explorer meets the trainer next. */
  boundary: number;
  explorerAsks: boolean;
  trainerRuns: boolean;
  trainerWaits: boolean;
}

export interface SyncParts extends SynchronizerOptions {
  readonly gate: Gate;
  readonly state: SyncState;
}

/** What the two sides do when they meet. */
export interface Style {
  start(): void;
  exploreBoundary(signal?: AbortSignal): Promise<SyncResult>;
  /** After `state.trainStep` has moved. */
  trainStepDone(signal?: AbortSignal): Promise<void>;
}

export async function publish({ transport, state }: SyncParts, version: number): Promise<void> {
  await transport.publish(version);
  state.publishedVersion = version;
}

export async function adopt({ transport, state }: SyncParts): Promise<SyncResult> {
  const version = state.publishedVersion;
  await transport.adopt(version);
  state.explorerVersion = version;
  state.adoptedVersion = version;
  return { outcome: 'updated', version };
}

export function hasNewerWeights({ publishedVersion, explorerVersion }: SyncState): boolean {
  return publishedVersion > explorerVersion;
}
