/**
 * Writes a folder for the Hugging Face hub: weights in shards, a model card, and the licence of the
 * base model.
 */
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import { parseModelId, parseStoredJson } from '@trinity-rft/core/support';
import { convertModel, type StoredTypeName } from '@trinity-rft/engine-onnx';
import { modelCard } from './model-card.js';
import { licenseOf } from './license.js';
import type { TargetInput, Written } from './target.js';

/** Maximum size of a shard, in bytes, as in the hub's own tools. */
const shardBytes = 5e9;

export async function writeHuggingFace(input: TargetInput): Promise<Written> {
  const { from, folder, name, adapter, numbers, facts, signal } = input;
  if (adapter !== undefined)
    await copyAdapter(adapter, folder, facts?.baseRepository ?? facts?.base);
  else {
    const dtype = numbers.name as StoredTypeName;
    await convertModel({ from, to: folder, dtype, shardBytes, signal });
  }
  const license = await licenseOf(facts?.base);
  if (license.text !== undefined) await writeFile(path.join(folder, 'LICENSE'), license.text);
  const algorithm = facts?.settings['algorithm.algorithm_type'];
  const card = modelCard({
    name,
    base: facts?.baseRepository,
    license: license.id,
    relation: adapter === undefined ? 'finetune' : 'adapter',
    algorithm: typeof algorithm === 'string' ? algorithm : undefined,
    step: facts?.step,
    evaluations: facts?.evaluations ?? [],
  });
  await writeFile(path.join(folder, 'README.md'), card);
  const unlicensed =
    'The licence of the base model is not known here: add it to README.md before you publish the folder.';
  return { file: '.', notes: license.id === undefined ? [unlicensed] : [] };
}

/**
 * Copies the adapter as a PEFT folder, without optimizer moments. If the base model is not on the
 * hub, the copy names only the last part of its path.
 */
async function copyAdapter(
  adapter: string,
  folder: string,
  base: string | undefined,
): Promise<void> {
  const file = path.join(adapter, 'adapter_config.json');
  const config = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CheckpointError(`${file} cannot be read.`, { code: 'ADAPTER_MISSING', cause });
  });
  const fields = parseStoredJson(file, config, 'ADAPTER_UNUSABLE') as Readonly<
    Record<string, unknown>
  >;
  const below = base ?? fields['base_model_name_or_path'];
  const named = {
    ...fields,
    ...(typeof below === 'string' && {
      base_model_name_or_path: parseModelId(below)?.repository ?? path.basename(below),
    }),
  };
  await writeFile(path.join(folder, 'adapter_config.json'), `${JSON.stringify(named, null, 2)}\n`);
  const weights = 'adapter_model.safetensors';
  await cp(path.join(adapter, weights), path.join(folder, weights));
}
