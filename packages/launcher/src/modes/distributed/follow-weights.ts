/**
 * The explorer's part of the weight sync. It fetches, checks and loads weights, and proves that the
 * sampler uses them.
 */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Logger, SyncError } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import type {
  DeliveryProbe,
  Membership,
  PublishedWeights,
  RunStore,
} from '@trinity-rft/core/store';
import type { ExplorerWeights } from '@trinity-rft/explorer/internal';
import { fetchFile, listName, problemOfWeights, type WeightList } from './weight-files.js';

export interface FollowOptions {
  readonly store: Pick<RunStore, 'publishedWeights' | 'getWeightFile' | 'reportDelivery' | 'view'>;
  readonly member: Membership;
  readonly sampler: Sampler;
  /** Name of the training run, which is also stored with the weights. */
  readonly run: string;
  /** A folder that only this explorer uses, for files that are downloaded from the store. */
  readonly scratch: string;
  /**
   * True to load new weights only when no rollout is in progress, so that each rollout uses the
   * same weights from start to end.
   */
  readonly waitsForRuns: boolean;
  readonly logger: Logger;
  readonly onTaken: (version: number) => void;
  /**
   * Called while no weights are published. Resolves to true to sample with the initial weights.
   * @default undefined: waits until a trainer publishes weights
   */
  readonly withoutTrainer?: () => Promise<boolean>;
  /**
   * Maximum mean absolute difference per token, in nats, between the log-probabilities of the
   * trainer and of this explorer. @default 1e-5, for two machines with the same engine
   */
  readonly tolerance?: number;
  /**
   * True to keep the downloaded files of the newest weights, because sampling servers that restart
   * need them. @default false
   */
  readonly keepsFiles?: boolean;
}

/** Default of {@link FollowOptions.tolerance}. */
const probeTolerance = 1e-5;

/**
 * Creates an object whose method `follow` loads the newest published weights, and proves that the
 * sampler uses them. `follow` throws SyncError if the proof fails, because the explorer must not
 * sample with other weights.
 */
export function followWeights(options: FollowOptions): ExplorerWeights {
  const { store, sampler, waitsForRuns, withoutTrainer } = options;
  let isProved = false;
  return {
    get version() {
      return sampler.policyVersion;
    },
    follow: async (busy) => {
      const newest = await store.publishedWeights();
      if (newest === undefined) return (await withoutTrainer?.()) ?? false;
      if (isProved && newest.version === sampler.policyVersion) return true;
      // Returns false, so that no rollout begins with weights that will change soon.
      if (busy && waitsForRuns) return false;
      isProved = await take(options, newest);
      return isProved;
    },
  };
}

/**
 * Loads the weights, and proves that the sampler uses them. Resolves with false if the trainer has
 * deleted the weights in the meantime.
 */
async function take(options: FollowOptions, weights: PublishedWeights): Promise<boolean> {
  const { store, member, logger, onTaken } = options;
  const { version } = weights;
  const hadEnded = await hasEnded(options);
  const { difference, problem, error } = await tryTake(options, weights);
  if (problem === undefined && error === undefined) {
    await store.reportDelivery(member, { version, difference, problem });
    onTaken(version);
    logger.info(`Samples with the weights of train step ${version}.`);
    return true;
  }
  // A trainer that makes the run longer publishes the weights again, possibly during this attempt.
  if (hadEnded || (await isDeleted(options, weights))) return false;
  if (error) throw error;
  await store.reportDelivery(member, { version, difference, problem });
  throw new SyncError(
    `The weights of train step ${version} were refused: ${problem}. Nothing that was sampled with them was stored; check the disk and the network between trainer and explorer, and start this explorer again.`,
    { code: 'DELIVERY_REFUSED' },
  );
}

/**
 * Returns true if the trainer has deleted the weights, because it replaced them or the training run
 * ended.
 */
async function isDeleted(options: FollowOptions, { digest }: PublishedWeights): Promise<boolean> {
  const newest = await options.store.publishedWeights();
  return newest?.digest !== digest || (await hasEnded(options));
}

const hasEnded = async ({ store }: FollowOptions): Promise<boolean> =>
  (await store.view()).end !== undefined;

interface Attempt {
  readonly difference?: number;
  /** Error that occurred while the weights were read or loaded. */
  readonly error?: Error;
  /** Reason for refusing the weights; undefined if they are in use. */
  readonly problem?: string;
}

const tryTake = (options: FollowOptions, weights: PublishedWeights): Promise<Attempt> =>
  load(options, weights).catch((error: Error) => ({ error }));

async function load(options: FollowOptions, weights: PublishedWeights): Promise<Attempt> {
  const { sampler, run, tolerance = probeTolerance, keepsFiles = false } = options;
  const { version, digest, probe, location } = weights;
  const directory = location.kind === 'folder' ? location.path : await fetchFiles(options, weights);
  const problem = await problemOfWeights(directory, { run, version, digest });
  if (problem !== undefined) return { problem };
  await sampler.adopt({ kind: 'checkpoint', directory, probe }, version);
  if (location.kind === 'store') await removeFetched(options, keepsFiles ? directory : undefined);
  return proof(sampler, probe, tolerance);
}

async function removeFetched({ scratch }: FollowOptions, kept: string | undefined): Promise<void> {
  for (const name of await readdir(scratch)) {
    const directory = path.join(scratch, name);
    if (directory !== kept) await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Downloads the files of the weights. Ignores missing files, which the check after the download
 * reports.
 */
async function fetchFiles(
  { store, scratch }: FollowOptions,
  { version }: PublishedWeights,
): Promise<string> {
  const directory = path.join(scratch, `version_${version}`);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const list = await store.getWeightFile(version, listName);
  if (!list) return directory;
  await writeFile(path.join(directory, listName), list);
  for (const file of filesOf(list))
    await fetchFile(directory, file, (part) => store.getWeightFile(version, part));
  return directory;
}

function filesOf(list: Uint8Array): WeightList['files'] {
  try {
    const { files } = JSON.parse(Buffer.from(list).toString('utf8')) as WeightList;
    return files.filter(
      (file) => !path.isAbsolute(file.path) && !file.path.split('/').includes('..'),
    );
  } catch {
    return [];
  }
}

async function proof(sampler: Sampler, probe: DeliveryProbe, tolerance: number): Promise<Attempt> {
  if (!sampler.score) return {};
  const { promptLength } = probe;
  const tokens = Int32Array.from(probe.tokens);
  const logprobs = await sampler.score({ tokens, promptLength, temperature: 1 });
  const sum = probe.logprobs.reduce(
    (total, value, i) => total + Math.abs(value - (logprobs[i] ?? Number.NaN)),
    0,
  );
  const difference = sum / probe.logprobs.length;
  if (difference <= tolerance) return { difference };
  return {
    difference: Number.isFinite(difference) ? difference : undefined,
    problem: `after loading them, this explorer scores the trainer's text differently, by ${difference} nats on average (at most ${tolerance} is allowed): other weights are in use`,
  };
}
