/** Brings an adapter home: the folder that PEFT and vLLM read. */
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import path from 'node:path';
import { describeError, CheckpointError } from '@trinity-rft/core';
import { paths } from '../../protocol/index.js';
import { extract } from 'tar';
import { z } from 'zod';
import type { Answer, Connection } from '../http/connection.js';

const mostRedirects = 5;
const downloadMs = 600_000;

const files = ['adapter_config.json', 'adapter_model.safetensors'];

/** Archives of SkyRL begin with the folder `/`. */
const isWanted = (entry: string): boolean => files.includes(path.posix.basename(entry));

/** @throws CheckpointError when the archive is no adapter */
export async function fetchAdapter(
  connection: Connection,
  source: { readonly modelId: string; readonly name: string },
  directory: string,
): Promise<void> {
  const bytes = await download(connection, paths.archive(source.modelId, source.name));
  await mkdir(directory, { recursive: true });
  try {
    await pipeline(Readable.from([bytes]), extract({ cwd: directory, filter: isWanted }));
  } catch (cause) {
    throw new CheckpointError(
      `The adapter ${source.name} that the Tinker server sent cannot be unpacked: ${describeError(cause)}.`,
      { code: 'TINKER_ARCHIVE', cause },
    );
  }
  const names = await readdir(directory);
  const missing = files.filter((name) => !names.includes(name));
  if (missing.length > 0)
    throw new CheckpointError(
      `The archive of the adapter ${source.name} holds ${names.join(', ') || 'nothing'}, but no ${missing.join(' and no ')}.`,
      { code: 'TINKER_ARCHIVE' },
    );
  await nameModules(directory);
}

async function download(connection: Connection, first: string): Promise<Uint8Array> {
  let address = first;
  for (let i = 0; i <= mostRedirects; i++) {
    const answer: Answer | undefined = await connection.send({
      method: 'GET',
      path: address,
      what: 'send an adapter',
      timeoutMs: downloadMs,
    });
    if (answer === undefined) break;
    if (answer.status < 300) return answer.bytes;
    if (answer.location === undefined) break;
    address = answer.location;
  }
  throw new CheckpointError(`The Tinker server sent no adapter from ${first}.`, {
    code: 'TINKER_ARCHIVE',
  });
}

const loose = z.looseObject({ target_modules: z.unknown() });

/** SkyRL names no modules, which PEFT would fill in by the kind of model: the tensors say which. */
async function nameModules(directory: string): Promise<void> {
  const file = path.join(directory, 'adapter_config.json');
  const config = loose.parse(JSON.parse(await readFile(file, 'utf8')));
  if (config.target_modules) return;
  const tensors = await tensorNames(path.join(directory, 'adapter_model.safetensors'));
  const modules = tensors.flatMap((name) => /([^.]+)\.lora_A\./.exec(name)?.[1] ?? []);
  const target_modules = [...new Set(modules)].toSorted();
  await writeFile(file, `${JSON.stringify({ ...config, target_modules }, null, 2)}\n`);
}

/** A safetensors file begins with the length of its header, which is JSON. */
async function tensorNames(file: string): Promise<readonly string[]> {
  const bytes = await readFile(file);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as object;
  return Object.keys(header);
}

/** Folder of the adapter in a checkpoint, as the embedded engine names it. */
export const adapterFolder = (checkpoint: string): string => path.join(checkpoint, 'lora_adapter');
