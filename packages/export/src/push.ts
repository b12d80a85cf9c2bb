/** Uploads an exported folder to the Hugging Face hub. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { commitIter, createRepo, repoExists, type CommitProgressEvent } from '@huggingface/hub';
import { ConfigError, describeError, ModelError } from '@trinity-rft/core';
import { hubTokenOf, hubUrlOf, redactText } from '@trinity-rft/core/support';
import type { ExportReport } from './export-model.js';
import { megabytes } from './room.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface PushOptions {
  /** Signal that stops the upload. The repository then has none of the files, or those of before. */
  readonly signal?: AbortSignal;
  /** Called with each progress message, the first before the first request. @default no callback */
  readonly onProgress?: (line: string) => void;
}

/**
 * Uploads the folder's files to a repository of the hub in one commit, replacing files with the
 * same names. Creates a private repository if it does not exist. Of `export.json`, uploads only the
 * fields that `loadModel` needs. Uses the hub at `HF_ENDPOINT` if this variable is set.
 * @param repository `OWNER/NAME`
 * @returns URL of the repository
 * @throws ConfigError as {@link readPush} does; ModelError if the upload fails; the reason of
 * `signal`
 */
export async function pushFolder(
  folder: string,
  repository: string,
  env: Environment,
  { signal, onProgress = () => undefined }: PushOptions = {},
): Promise<string> {
  const accessToken = readPush(repository, env);
  const hubUrl = hubUrlOf(env);
  const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const operations = await Promise.all(
    names.map(async (name) => ({
      operation: 'addOrUpdate' as const,
      path: path.relative(folder, name).replaceAll(path.sep, '/'),
      content: path.basename(name) === 'export.json' ? await shared(name) : pathToFileURL(name),
    })),
  );
  const sizes = await Promise.all(names.map(async (name) => (await stat(name)).size));
  const sizeOf = new Map(operations.map(({ path: name }, i) => [name, sizes[i] ?? 0]));
  const total = megabytes(sizes.reduce((sum, size) => sum + size, 0));
  onProgress(`Uploads the folder (${total}) to ${hubUrl}/${repository}.`);
  const access = {
    repo: { type: 'model', name: repository },
    accessToken,
    hubUrl,
    fetch: stoppableFetch(signal),
  } as const;
  try {
    if (!(await repoExists(access))) await createRepo({ ...access, visibility: 'private' });
    const title = 'Upload a model trained with Trinity-RFT for TypeScript';
    const listeners = [
      percentLines(sizeOf, 'hashing', (percent) => onProgress(`  ${percent} % read`)),
      percentLines(sizeOf, 'uploading', (percent) => onProgress(`  ${percent} % uploaded`)),
    ];
    for await (const event of commitIter({ ...access, operations, title, abortSignal: signal }))
      for (const onEvent of listeners) onEvent(event);
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ModelError(
      `The hub did not take ${repository}: ${redactText(describeError(cause))}. The folder is complete; upload it later.`,
      { status: 502, code: 'HUB_UPLOAD', cause },
    );
  }
  return `${hubUrl}/${repository}`;
}

/** Returns `fetch`, whose requests `signal` aborts as well. */
const stoppableFetch =
  (signal: AbortSignal | undefined): typeof fetch =>
  (input, init) => {
    const signals = [signal, init?.signal].filter((each) => each instanceof AbortSignal);
    return fetch(input, { ...init, signal: AbortSignal.any(signals) });
  };

/** Returns a function that calls `say` each time another tenth of the bytes has passed `stage`. */
function percentLines(
  sizeOf: ReadonlyMap<string, number>,
  stage: 'hashing' | 'uploading',
  say: (percent: number) => void,
): (event: CommitProgressEvent) => void {
  const total = sizeOf.values().reduce((sum, size) => sum + size, 0);
  const passed = new Map<string, number>();
  let said = 0;
  return (event) => {
    if (event.event !== 'fileProgress' || event.state !== stage) return;
    passed.set(event.path, event.progress * (sizeOf.get(event.path) ?? 0));
    const bytes = passed.values().reduce((sum, each) => sum + each, 0);
    const tenths = Math.floor((10 * bytes) / total);
    if (tenths > said) say(tenths * 10);
    said = Math.max(said, tenths);
  };
}

/**
 * Checks the settings of an upload and returns the access token. Callers can thus find wrong
 * settings before they write the folder.
 * @throws ConfigError if the name is not `OWNER/NAME`, or `HF_TOKEN` is not set or not a token of
 * the hub
 */
export function readPush(repository: string, env: Environment): string {
  if (!/^[\w.-]+\/[\w.-]+$/.test(repository))
    throw new ConfigError(`--push is "${repository}". Expected OWNER/NAME.`, {
      code: 'ARGUMENT_INVALID',
    });
  const token = hubTokenOf(env);
  if (token?.startsWith('hf_')) return token;
  const problem = token === undefined ? 'is not set' : 'does not begin with hf_';
  throw new ConfigError(
    `HF_TOKEN ${problem}. --push needs a token of the hub that may write: set it.`,
    { code: 'HF_TOKEN' },
  );
}

/** Returns `export.json` without facts about this machine, such as folder names. */
async function shared(file: string): Promise<Blob> {
  const report = JSON.parse(await readFile(file, 'utf8')) as ExportReport;
  const { version, file: main, chat } = report;
  return new Blob([`${JSON.stringify({ version, file: main, chat }, null, 2)}\n`]);
}
