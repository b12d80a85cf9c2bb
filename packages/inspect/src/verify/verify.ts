/** Recomputes the log-probabilities of recorded tokens under the weights that sampled them. */
import { readExperiences } from '@trinity-rft/buffer';
import {
  type Experience,
  CancelledError,
  spansOf,
  unknownPolicyVersion,
  isExpert,
} from '@trinity-rft/core';
import type { Engine, EngineOptions, TrainEngine } from '@trinity-rft/core/engine';
import { packBatch } from '@trinity-rft/trainer';
import { createComparison, type Recorded } from './compare.js';
import type { Verification, VerifiedStore, VerifiedVersion } from './report.js';
import { findTargets, type TargetOptions, type VerifyTarget } from './targets.js';

interface VerifyOptions extends TargetOptions {
  /**
   * A configuration, or the folder of a run. Verifying version 0 needs the configuration, which
   * names the model that a stage starts from.
   */
  readonly run: string;
  /**
   * Largest difference at which a recorded and a recomputed log-probability are considered equal.
   * @default 1e-5
   */
  readonly tolerance?: number;
  readonly signal?: AbortSignal;
}

const defaultTolerance = 1e-5;
/** Number of experiences in one forward pass of the engine. */
const chunkSize = 64;

/**
 * Recomputes the log-probability of every sampled token whose weights still exist, at the
 * temperature with which the token was sampled. Records sampled with top-p or top-k do not pass:
 * they contain log-probabilities under the truncated distribution, which are larger.
 * @throws ConfigError when no experiences are recorded; BufferError or CheckpointError when a store
 * or a checkpoint cannot be read
 */
export async function verifyRun(options: VerifyOptions): Promise<Verification> {
  const { run, tolerance = defaultTolerance, signal } = options;
  // Mode `train` may train on experiences that weights of another run have sampled.
  const targets = await findTargets(run, options, ({ mode }) => mode !== 'train');
  const stores: VerifiedStore[] = [];
  for (const target of targets) stores.push(await verifyStore(target, signal));
  const versions = stores.flatMap((store) => store.versions);
  const tokensOf = (checked: boolean): number =>
    versions
      .filter(({ unchecked }) => (unchecked === undefined) === checked)
      .reduce((sum, { tokens }) => sum + tokens, 0);
  const largest = versions.reduce((max, version) => Math.max(max, version.largest ?? 0), 0);
  const checkedTokens = tokensOf(true);
  return {
    tolerance,
    stores,
    checkedTokens,
    uncheckedTokens: tokensOf(false),
    largest,
    ok: checkedTokens > 0 && largest <= tolerance,
  };
}

async function verifyStore(
  { database, ...target }: VerifyTarget,
  signal: AbortSignal | undefined,
): Promise<VerifiedStore> {
  await using reader = closing(readExperiences(database));
  // An experience with calls of several versions is stored under the oldest version. This map keeps
  // the calls of newer versions.
  const later = new Map<number, Recorded[]>();
  const stored = new Set(reader.versions().map(({ policyVersion }) => policyVersion));
  await using engines = openEngines(target);
  const versions: VerifiedVersion[] = [];
  while (stored.size + later.size > 0) {
    const version = Math.min(...stored, ...later.keys());
    const records = recordsOf(
      version,
      stored.has(version) ? reader.experiences(version) : [],
      later,
    );
    stored.delete(version);
    versions.push(await verifyVersion(version, records, await engines.weightsAt(version), signal));
    later.delete(version);
  }
  return { database, versions };
}

interface LoadedWeights {
  readonly folder: string;
  readonly trainer: TrainEngine;
}

interface VersionEngines extends AsyncDisposable {
  /**
   * Loads the weights of a policy version; they are valid until the next call. Returns undefined if
   * they no longer exist.
   */
  weightsAt(version: number): Promise<LoadedWeights | undefined>;
}

function openEngines({
  weights,
  lora,
  quantization,
  engine: factory,
}: Omit<VerifyTarget, 'database'>): VersionEngines {
  const opened = new Map<'first' | 'any', Engine>();
  const open = async (kind: 'first' | 'any', options: EngineOptions): Promise<Engine> => {
    const engine = opened.get(kind) ?? (await factory.open(options));
    opened.set(kind, engine);
    return engine;
  };
  return {
    weightsAt: async (version) => {
      const folder = weights.get(version);
      if (folder === undefined) return undefined;
      if (version === 0 && (lora?.path ?? quantization) !== undefined) {
        const { trainer } = await open('first', { modelPath: folder, lora, quantization });
        return { folder, trainer };
      }
      const { trainer } = await open('any', { modelPath: folder });
      await trainer.load(folder);
      return { folder, trainer };
    },
    [Symbol.asyncDispose]: async () =>
      void (await Promise.all([...opened.values()].map((engine) => engine.close()))),
  };
}

function* recordsOf(
  version: number,
  experiences: Iterable<Experience>,
  later: Map<number, Recorded[]>,
): Iterable<Recorded> {
  yield* later.get(version) ?? [];
  for (const experience of experiences) {
    // The sampling probability of a demonstration is unknown.
    if (isExpert(experience)) continue;
    const spans = spansOf(experience);
    for (const other of new Set(spans.map(({ policyVersion }) => policyVersion))) {
      const record = {
        experience,
        spans: spans.filter(({ policyVersion }) => policyVersion === other),
      };
      if (other === version) yield record;
      else later.set(other, [...(later.get(other) ?? []), record]);
    }
  }
}

async function verifyVersion(
  version: number,
  records: Iterable<Recorded>,
  weights: LoadedWeights | undefined,
  signal: AbortSignal | undefined,
): Promise<VerifiedVersion> {
  const comparison = createComparison();
  for (const chunk of chunks(records, chunkSize)) {
    if (signal?.aborted)
      throw new CancelledError('The verification was stopped.', {
        reason: 'shutdown',
        cause: signal.reason,
      });
    const recomputed = weights && (await recompute(weights.trainer, chunk));
    chunk.forEach((record, i) => comparison.add(record, recomputed?.[i]));
  }
  const { tokens, largest, mean, worst } = comparison.result();
  if (!weights) return { policyVersion: version, tokens, unchecked: uncheckedReason(version) };
  return { policyVersion: version, tokens, weights: weights.folder, largest, mean, worst };
}

/** Computes log-probabilities of all response tokens of each record. */
async function recompute(
  trainer: TrainEngine,
  records: readonly Recorded[],
): Promise<readonly Float32Array[]> {
  const { tokens } = packBatch(records.map(({ experience }) => experience));
  const { logprobs, offsets } = await trainer.forward(tokens);
  return records.map((_, row) => logprobs.subarray(offsets[row], offsets[row + 1]));
}

function uncheckedReason(version: number): string {
  if (version === unknownPolicyVersion) return 'the version was not recorded';
  if (version === 0)
    return 'the weights before training are opened with the configuration: name it instead of the folder of the run';
  return `there is no checkpoint global_step_${version}: keep one of each step with trainer.save_interval: 1`;
}

function* chunks<T>(items: Iterable<T>, size: number): Iterable<readonly T[]> {
  let chunk: T[] = [];
  for (const item of items) {
    chunk.push(item);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

function closing<T extends { close(): void }>(resource: T): T & AsyncDisposable {
  return Object.assign(resource, { [Symbol.asyncDispose]: async () => resource.close() });
}
