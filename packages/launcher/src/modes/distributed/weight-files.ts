/**
 * Lists the files of published weights, transfers them through the store, and checks that a reader
 * has these files unchanged.
 */
import { hash } from 'node:crypto';
import { appendFile, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { digestFolder, digestOfFile, type CheckpointFile } from '@trinity-rft/core/engine';
import type { DeliveryProbe } from '@trinity-rft/core/store';
import { tryJson } from '@trinity-rft/core/support';

/** Name of the file that lists the other files in a folder of weights. */
export const listName = 'weights.json';

export interface WeightList {
  /** Name of the training run that made the weights. */
  readonly run: string;
  readonly version: number;
  /** Scores that tell weights apart if the folder has only their addresses. */
  readonly probe?: DeliveryProbe;
  readonly files: readonly CheckpointFile[];
}

/**
 * Name of the file in which the Tinker engine writes the server's addresses of weights. They differ
 * each time the same weights are saved, so neither the digest nor a check covers this file.
 */
export const addressFile = 'tinker.json';

/**
 * Writes the list of the folder's files. Returns the list and its digest, which covers all files
 * except the {@link addressFile}. If the server of these addresses hands out no weights, the digest
 * covers the probe in their place.
 */
export async function writeWeightList(
  directory: string,
  { run, version, probe }: Required<Omit<WeightList, 'files'>>,
): Promise<{ readonly list: WeightList; readonly digest: string }> {
  const files = (await digestFolder(directory)).filter((file) => file.path !== listName);
  const hasFile = (end: string): boolean => files.some((file) => file.path.endsWith(end));
  const list = {
    run,
    version,
    ...(hasFile(addressFile) && !hasFile('.safetensors') && { probe }),
    files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
  };
  await writeFile(path.join(directory, listName), textOf(list));
  return { list, digest: digestOf(list) };
}

/**
 * Size in bytes of the parts in which files are stored. Files of weights may not fit into one array
 * of bytes.
 */
export const partBytes = 64 << 20;

/** Returns the path in the store of part `part` of a file. Part 0 has the path of the file. */
const pathOfPart = (file: string, part: number): string =>
  part === 0 ? file : `${file}.part_${part}`;

type SizedFile = Pick<CheckpointFile, 'path' | 'sizeBytes'>;

/** Stores the parts of a file in `directory`. */
export async function storeFile(
  directory: string,
  { path: file, sizeBytes }: SizedFile,
  put: (path: string, bytes: Uint8Array) => Promise<void>,
): Promise<void> {
  const source = path.join(directory, file);
  if (sizeBytes <= partBytes) return put(file, await readFile(source));
  await using handle = await open(source);
  for (let part = 0, at = 0; at < sizeBytes; part++) {
    const bytes = new Uint8Array(Math.min(partBytes, sizeBytes - at));
    const { bytesRead } = await handle.read(bytes);
    if (bytesRead === 0) return;
    await put(pathOfPart(file, part), bytes.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/** Writes a stored file to `directory`. The file ends before the first part that is missing. */
export async function fetchFile(
  directory: string,
  { path: file, sizeBytes }: SizedFile,
  get: (path: string) => Promise<Uint8Array | undefined>,
): Promise<void> {
  const target = path.join(directory, file);
  await mkdir(path.dirname(target), { recursive: true });
  for (let part = 0, written = 0; part === 0 || written < sizeBytes; part++) {
    const bytes = await get(pathOfPart(file, part));
    if (bytes === undefined) return;
    await (part === 0 ? writeFile : appendFile)(target, bytes);
    written += bytes.length;
  }
}

const textOf = (list: WeightList): string => `${JSON.stringify(list, null, 2)}\n`;

const coveredFiles = ({ files }: WeightList): WeightList['files'] =>
  files.filter((file) => file.path !== addressFile);

const digestOf = (list: WeightList): string =>
  digestOfText(textOf({ ...list, files: coveredFiles(list) }));

const digestOfText = (text: string): string => hash('sha256', text, 'hex');

export interface Expected {
  readonly run: string;
  readonly version: number;
  readonly digest: string;
}

/**
 * Returns the first problem of a folder of weights: a published file that is missing or has
 * changed. Returns undefined if there is none.
 */
export async function problemOfWeights(
  directory: string,
  expected: Expected,
): Promise<string | undefined> {
  const text = await readFile(path.join(directory, listName), 'utf8').catch(() => undefined);
  if (text === undefined) return `${path.join(directory, listName)} is missing`;
  const list = parseList(text);
  if (list === undefined) return `${path.join(directory, listName)} is not a list of weights`;
  if (list.run !== expected.run) return `they are of another run, ${list.run}`;
  if (list.version !== expected.version)
    return `they are of version ${list.version}, not of version ${expected.version}`;
  for (const file of coveredFiles(list)) {
    const problem = await problemOfFile(path.join(directory, file.path), file);
    if (problem !== undefined) return problem;
  }
  // The digest of earlier versions covers all files.
  return [digestOf(list), digestOfText(text)].includes(expected.digest)
    ? undefined
    : `${path.join(directory, listName)} is not the one that the trainer published`;
}

function parseList(text: string): WeightList | undefined {
  const list = tryJson(text) as Partial<WeightList> | null | undefined;
  return Array.isArray(list?.files) ? (list as WeightList) : undefined;
}

async function problemOfFile(file: string, entry: CheckpointFile): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return `${file} is missing`;
  if (found.size !== entry.sizeBytes)
    return `${file} has ${found.size} bytes; ${entry.sizeBytes} were published`;
  return (await digestOfFile(file)) === entry.sha256
    ? undefined
    : `${file} differs from what was published`;
}
