/** Reads the status of a run from its store, or from the file of its only process. */
import { hostname } from 'node:os';
import path from 'node:path';
import { ConfigError, describeError, TrinityError } from '@trinity-rft/core';
import type { RunReader } from '@trinity-rft/buffer/run-store';
import { readConfiguration, type ConfigurationOptions } from '@trinity-rft/launcher';
import { readEnd, readProcessBeat, readStorePlace } from '@trinity-rft/launcher/files';
import { isThere, locateRun } from '../verify/folder.js';
import { readProcessFile } from './read-process-file.js';
import { statusOf, type RunStatus } from './run-status.js';

export interface StatusReader {
  /** Reads the current state of the run, also if its folder has been replaced. */
  look(): Promise<RunStatus>;
  close(): Promise<void>;
}

/**
 * Opens the status of a run for reading.
 * @param run a configuration, or the folder of a run
 * @throws ConfigError when there is no such run, or it has no store and no process works on it
 */
export async function openStatus(
  run: string,
  options: Omit<ConfigurationOptions, 'configPath'> = {},
): Promise<StatusReader> {
  const reader = await open(run, options);
  return {
    ...reader,
    look: () =>
      reader.look().catch(async (cause: unknown) => {
        if (!TrinityError.is(cause) || cause.code !== 'STORE_GONE') throw cause;
        // Opened for this call only: several callers may share the reader.
        const replaced = await open(run, options);
        try {
          return await replaced.look();
        } finally {
          await replaced.close();
        }
      }),
  };
}

async function open(
  run: string,
  options: Omit<ConfigurationOptions, 'configPath'>,
): Promise<StatusReader> {
  const place = await placeOf(run, options);
  const store = await storeOf(place).catch((cause: unknown) => {
    throw place.advice === undefined ? cause : withAdvice(place.advice, cause);
  });
  if (store !== undefined)
    return {
      look: async () => {
        const status = statusOf(await store.view(), hostname());
        const lastEnd = await readEnd(place.jobDirectory);
        const beat = await readProcessBeat(place.jobDirectory);
        // One process that continues the run alone records its steps only in the folder.
        const alone = Math.max(lastEnd?.trainStep ?? 0, beat?.progress.trainStep ?? 0);
        if (alone > status.trainStep) return readProcessFile(place.jobDirectory);
        return { ...status, lastEnd };
      },
      close: () => store.close(),
    };
  const look = () => readProcessFile(place.jobDirectory);
  await look();
  return { look, close: async () => undefined };
}

interface Place {
  readonly jobDirectory: string;
  /** Path or URL of the database that the processes share. */
  readonly url: string;
  /** Possible names of the run in the database. */
  readonly names: readonly string[];
  /** Advice for the user if the database cannot be opened. */
  readonly advice?: string;
}

const withAdvice = (advice: string, cause: unknown): ConfigError =>
  new ConfigError(`${describeError(cause)} ${advice}`, { code: 'RUN_STORE_CLOSED' });

const passwordAdvice =
  'The folder of a run keeps no password: name the configuration of the run, or set PGPASSWORD.';

async function placeOf(
  run: string,
  options: Omit<ConfigurationOptions, 'configPath'>,
): Promise<Place> {
  const { place, isFolder } = await locateRun(run, options.cwd);
  if (isFolder) return placeOfFolder(place);
  const read = { ...options, configPath: place, checkNames: false, readsRun: true };
  const { loaded } = await readConfiguration(read);
  const stage = loaded.config.stages.at(-1) ?? loaded.config.stages[0];
  const { runStore, project, group, name } = stage;
  const { jobDirectory } = loaded.config;
  // The mode of a process may have been set on its command line, and with it the store.
  const isRecorded = readStorePlace(jobDirectory).run !== undefined;
  if (isRecorded && !runStore.includes('://')) return placeOfFolder(jobDirectory);
  return { jobDirectory, url: runStore, names: [path.posix.join(project, group, name)] };
}

function placeOfFolder(folder: string): Place {
  const { url, run } = readStorePlace(folder);
  const there = { jobDirectory: folder, url, names: run === undefined ? endings(folder) : [run] };
  return url.includes('://') ? { ...there, advice: passwordAdvice } : there;
}

/**
 * Returns the last 2 to 5 parts of the path as candidates for the run's name, which is usually
 * `project/group/name`.
 */
function endings(folder: string): readonly string[] {
  const parts = folder.split(path.sep).filter((part) => part !== '');
  return [2, 3, 4, 5].map((count) => parts.slice(-count).join('/'));
}

/** Timeout for opening the database, in ms. */
const patienceMs = 5000;

/** Opens the store of the run. Returns undefined if the run has no store. */
async function storeOf({ url, names }: Place): Promise<RunReader | undefined> {
  if (!url.includes('://') && !(await isThere(url))) return undefined;
  for (const run of names) {
    const { readRunStore } = await import('@trinity-rft/buffer/run-store');
    const store = await readRunStore({ url, run, patienceMs });
    if (store !== undefined) return store;
  }
  return undefined;
}
