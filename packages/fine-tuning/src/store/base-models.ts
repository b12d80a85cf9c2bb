/**
 * Base models that jobs can start from: a map from model names in the API to models on this
 * machine.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';
import { isTree, type Tree } from '@trinity-rft/core/support';
import { findModel } from '@trinity-rft/local';
import { parse } from 'yaml';
import { z } from 'zod';

/**
 * Part of a configuration that is used for all jobs of a base model. It takes precedence over the
 * settings of a job.
 */
export type ModelSettings = Readonly<Record<string, unknown>> & {
  readonly model: { readonly model_path: string };
};

export type BaseModels = Readonly<Record<string, ModelSettings>>;

const entry = z.union(
  [
    z.string().transform((place) => ({ model: { model_path: place } })),
    z.looseObject({ model: z.looseObject({ model_path: z.string() }) }),
  ],
  { error: 'expected a folder, or part of a configuration with model.model_path' },
);

/** Configuration keys that the server sets, and a model's settings must not contain. */
const own = ['project', 'name', 'mode', 'checkpoint_root_dir', 'seed', 'stages', 'buffer'];

/**
 * Reads base models from a YAML file that maps each name to a folder or to a part of a
 * configuration. Relative paths are resolved against the folder of the file.
 * @throws ConfigError naming the invalid entry
 */
export async function readBaseModels(file: string): Promise<BaseModels> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new ConfigError(`${file} cannot be read: ${describeError(cause)}.`, {
      code: 'MODELS_FILE',
      cause,
    });
  });
  const value = parsed(file, text);
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0)
    throw new ConfigError(`${file} names no model. Expected NAME: FOLDER in each line.`, {
      code: 'MODELS_FILE',
    });
  return baseModels(value as Readonly<Record<string, unknown>>, path.dirname(file), file);
}

function parsed(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw new ConfigError(`${file} is not YAML: ${describeError(cause)}`, {
      code: 'MODELS_FILE',
      cause,
    });
  }
}

/**
 * Returns true if a Tinker server trains and samples. It uses the adapter settings of
 * `model.tinker` instead of `model.lora_configs`.
 */
export function usesTinker(settings: ModelSettings): boolean {
  const { enable = false } = treeAt(treeAt(settings, 'model'), 'tinker');
  return enable !== false || treeAt(settings, 'trainer')['trainer_type'] === 'tinker';
}

/** Returns a section of a configuration, or an empty one. */
export const treeAt = (tree: Tree, key: string): Tree => {
  const value = tree[key];
  return isTree(value) ? value : {};
};

/** Returns why the learning rate of a model's jobs cannot be determined, or undefined if it can. */
function rateProblem(settings: ModelSettings): string | undefined {
  const { lr } = treeAt(treeAt(settings, 'algorithm'), 'optimizer');
  if (typeof lr === 'number') return undefined;
  if (lr !== undefined && lr !== null)
    return `algorithm.optimizer.lr is ${JSON.stringify(lr)}; expected a number, because the multiplier of a job scales it.`;
  const { lora_configs: adapters = [{}] } = treeAt(settings, 'model');
  const hasAdapter = usesTinker(settings) || (Array.isArray(adapters) && adapters.length > 0);
  return hasAdapter
    ? undefined
    : 'lora_configs: [] trains all weights. Set algorithm.optimizer.lr, such as 1.0e-6, because the usual rates are those of adapters.';
}

/**
 * Checks base models, and replaces their paths with absolute paths of model folders and GGUF files.
 * @param where source of the entries in error messages, such as a file name
 * @throws ConfigError naming the invalid entry
 */
export async function baseModels(
  entries: Readonly<Record<string, unknown>>,
  folder: string,
  where: string,
): Promise<BaseModels> {
  const models: Record<string, ModelSettings> = {};
  for (const [name, given] of Object.entries(entries)) {
    const refuse = (what: string): ConfigError =>
      new ConfigError(`${where}, ${name}: ${what}`, { code: 'MODELS_FILE' });
    const { success, data, error } = entry.safeParse(given);
    if (!success) throw refuse(`${error.issues[0]?.message}.`);
    const taken = own.find((key) => key in data);
    if (taken !== undefined)
      throw refuse(`${taken} is written by the server for each job. Leave it out.`);
    const problem = rateProblem(data);
    if (problem !== undefined) throw refuse(problem);
    if (name.startsWith('ft:')) throw refuse('names with ft: are those of trained models.');
    // Jobs need the checkpoint of a run, and the file of an export.
    const { location } = await findModel(path.resolve(folder, data.model.model_path));
    models[name] = { ...data, model: { ...data.model, model_path: location } };
  }
  return models;
}
