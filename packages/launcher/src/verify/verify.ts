/**
 * Records against weights: recomputes the log-probabilities of recorded tokens under the version
 * that sampled them.
 */
import { readExperiences } from '@trinity-rft/buffer';
import {
  CancelledError,
  spansOf,
  unknownPolicyVersion,
  type Engine,
  type Experience,
  type TrainEngine,
} from '@trinity-rft/core';
import { createOnnxEngine, type OnnxEngineOptions } from '@trinity-rft/engine-onnx';
import { packBatch } from '@trinity-rft/trainer';
import { createComparison, type Recorded } from './compare.js';
import type { Verification, VerifiedStore, VerifiedVersion } from './report.js';
import { findTargets, type VerifyTarget } from './targets.js';

export interface VerifyOptions {
  /**
   * A configuration, or the folder of a run. Version 0 needs the configuration: it says where the
   * model is that a stage begins with.
   */
  readonly run: string;
  /** Largest difference of a log-probability that is still exact. @default 1e-5 */
  readonly tolerance?: number;
  /** @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @default the working directory of the process */
  readonly cwd?: string;
  /** Directories whose modules export what the configuration names. @default none */
  readonly pluginDirs?: readonly string[];
  readonly signal?: AbortSignal;
}

const defaultTolerance = 1e-5;
/** Experiences in one pass of the engine. */
const chunkSize = 64;

/**
 * Recomputes every recorded token whose weights are still there, at the temperature it was sampled
 * with. Sampling with top-p or top-k records the log-probabilities of the cut distribution, which
 * are larger: such records do not pass.
 * @throws ConfigError when nothing was recorded, BufferError or CheckpointError when something
 * cannot be read
 */
export async function verifyRun(options: VerifyOptions): Promise<Verification> {
  const { run, tolerance = defaultTolerance, signal } = options;
  const targets = await findTargets(run, options);
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
  // Merged calls are stored under their oldest version and wait here for the newer ones.
  const later = new Map<number, Recorded[]>();
  const stored = new Set(reader.versions().map(({ policyVersion }) => policyVersion));
  await using engines = openEngines(target);
  const versions: VerifiedVersion[] = [];
  for (
    let version = nextVersion(stored, later);
    version !== undefined;
    version = nextVersion(stored, later)
  ) {
    const records = recordsOf(
      version,
      stored.has(version) ? reader.experiences(version) : [],
      later,
    );
    stored.delete(version);
    const trainer = await engines.trainerAt(version);
    versions.push(
      await verifyVersion({
        version,
        records,
        folder: target.weights.get(version),
        trainer,
        signal,
      }),
    );
    later.delete(version);
  }
  return { database, versions };
}

interface VersionEngines extends AsyncDisposable {
  /** Has the weights of that version until the next call; undefined where they are gone. */
  trainerAt(version: number): Promise<TrainEngine | undefined>;
}

function openEngines({ weights, adapter }: Omit<VerifyTarget, 'database'>): VersionEngines {
  const opened = new Map<'first' | 'any', Engine>();
  const open = async (kind: 'first' | 'any', options: OnnxEngineOptions): Promise<Engine> => {
    const engine = opened.get(kind) ?? (await createOnnxEngine(options));
    opened.set(kind, engine);
    return engine;
  };
  return {
    trainerAt: async (version) => {
      const folder = weights.get(version);
      if (folder === undefined) return undefined;
      if (version === 0 && adapter !== undefined)
        return (await open('first', { modelPath: folder, lora: { path: adapter } })).trainer;
      const { trainer } = await open('any', { modelPath: folder });
      await trainer.load(folder);
      return trainer;
    },
    [Symbol.asyncDispose]: async () =>
      void (await Promise.all([...opened.values()].map((engine) => engine.close()))),
  };
}

function nextVersion(
  stored: ReadonlySet<number>,
  later: ReadonlyMap<number, unknown>,
): number | undefined {
  const versions = [...stored, ...later.keys()];
  return versions.length === 0 ? undefined : Math.min(...versions);
}

function* recordsOf(
  version: number,
  experiences: Iterable<Experience>,
  later: Map<number, Recorded[]>,
): Iterable<Recorded> {
  yield* later.get(version) ?? [];
  for (const experience of experiences) {
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

interface VersionOptions {
  readonly version: number;
  readonly records: Iterable<Recorded>;
  readonly folder: string | undefined;
  readonly trainer: TrainEngine | undefined;
  readonly signal: AbortSignal | undefined;
}

async function verifyVersion({
  version,
  records,
  folder,
  trainer,
  signal,
}: VersionOptions): Promise<VerifiedVersion> {
  const comparison = createComparison();
  const checked = folder !== undefined && trainer !== undefined;
  for (const chunk of chunks(records, chunkSize)) {
    if (signal?.aborted)
      throw new CancelledError('The verification was stopped.', {
        reason: 'shutdown',
        cause: signal.reason,
      });
    const recomputed = checked ? await recompute(trainer, chunk) : undefined;
    chunk.forEach((record, i) => comparison.add(record, recomputed?.[i]));
  }
  const { tokens, largest, mean, worst } = comparison.result();
  if (!checked) return { policyVersion: version, tokens, unchecked: whyNot(version) };
  return {
    policyVersion: version,
    tokens,
    weights: folder,
    largest,
    mean,
    ...(worst && { worst }),
  };
}

/** Log-probabilities of all response tokens of each record. */
async function recompute(
  trainer: TrainEngine,
  records: readonly Recorded[],
): Promise<readonly Float32Array[]> {
  const { tokens } = packBatch(records.map(({ experience }) => experience));
  const { logprobs, offsets } = await trainer.forward(tokens);
  return records.map((_, row) => logprobs.subarray(offsets[row], offsets[row + 1]));
}

function whyNot(version: number): string {
  if (version === unknownPolicyVersion) return 'the version was not recorded';
  if (version === 0)
    return 'the folder of a run does not say which model it began with: name its configuration instead';
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
