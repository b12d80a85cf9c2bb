/**
 * Finds and fetches models that a configuration names by hub id, and replaces the ids with paths in
 * the cache.
 */
import path from 'node:path';
import {
  describeHubModel,
  fetchHubModel,
  fetchModelShape,
  findCachedModel,
  byteSize,
  type Environment,
  type HubModelOptions,
} from '@trinity-rft/buffer/internal';
import type { ConfigProblem, ResolvedConfig, StageConfig } from '@trinity-rft/config';
import {
  configError,
  diskAt,
  mapStages,
  readModelFolder,
  weightsOf,
  withLayers,
} from '@trinity-rft/config/internal';
import { ConfigError } from '@trinity-rft/core';

/** A hub id, and the configuration key that names it. */
interface NamedModel {
  readonly id: string;
  readonly stageIndex: number;
  readonly key: readonly (string | number)[];
}

type ModelOptions = Omit<HubModelOptions, 'environment'> & { readonly env: Environment };
type ProblemAt = (
  stage: number,
  key: readonly (string | number)[],
  message: string,
) => ConfigProblem;

/** Returns the hub models in the order of the stages, each id once. */
function hubModelsOf({ stages }: ResolvedConfig): readonly NamedModel[] {
  const named = stages.flatMap(modelsOf);
  return named.filter(({ id }, index) => named.findIndex((other) => other.id === id) === index);
}

function modelsOf({ stageIndex, model, algorithm, explorer }: StageConfig): NamedModel[] {
  const critic = algorithm.needs.valueHead ? model.criticModelPath : undefined;
  const named = [
    { key: ['model', 'model_path'], id: model.fromPreviousStage ? undefined : model.modelPath },
    { key: ['model', 'critic_model_path'], id: critic },
    ...explorer.auxiliaryModels.map(({ source }, index) => ({
      key: ['explorer', 'auxiliary_models', index, 'model_path'],
      id: source.kind === 'folder' ? source.modelPath : undefined,
    })),
  ];
  return named.flatMap(({ key, id }) => (isId(id) ? [{ stageIndex, key, id }] : []));
}

/** True for a hub id. Paths in a resolved configuration are absolute. */
const isId = (model: string | undefined): model is string =>
  model !== undefined && !path.isAbsolute(model);

/** Replaces hub ids with paths. The hub id remains the name of the model for clients. */
function withModels<T extends ResolvedConfig>(config: T, paths: ReadonlyMap<string, string>): T {
  if (paths.size === 0) return config;
  const stages = mapStages(config.stages, (stage, previous) =>
    stageWithModels(stage, previous, paths),
  );
  return { ...config, stages };
}

function stageWithModels(
  stage: StageConfig,
  previous: StageConfig | undefined,
  paths: ReadonlyMap<string, string>,
): StageConfig {
  const { model, explorer } = stage;
  const { modelPath, criticModelPath } = model;
  const folder = paths.get(modelPath);
  const name = explorer.rolloutModel.name ?? (folder === undefined ? undefined : modelPath);
  const found = {
    ...model,
    modelPath: folder ?? modelPath,
    isLocal: model.isLocal || folder !== undefined,
    lora: folder === undefined ? model.lora : loraIn(folder, model.lora),
    criticModelPath: criticModelPath && (paths.get(criticModelPath) ?? criticModelPath),
  };
  const { canQuantize } = model.base;
  const base = weightsOf(found, previous?.model, { disk: diskAt('.'), canQuantize });
  return {
    ...stage,
    model: { ...found, base },
    explorer: {
      ...explorer,
      rolloutModel: { ...explorer.rolloutModel, name },
      auxiliaryModels: explorer.auxiliaryModels.map((auxiliary) => {
        const { source } = auxiliary;
        if (source.kind !== 'folder') return auxiliary;
        const { modelPath: given } = source;
        return { ...auxiliary, source: { ...source, modelPath: paths.get(given) ?? given } };
      }),
    },
  };
}

type Lora = StageConfig['model']['lora'];

/** Returns the adapter with the layers of the model in `folder`. */
function loraIn(folder: string, lora: Lora): Lora {
  const read = readModelFolder(diskAt('.'), folder);
  return read.kind === 'shape' && lora?.path === undefined && lora
    ? withLayers(lora, read.shape)
    : lora;
}

/** Replaces the hub ids of models that are in the cache with their paths. */
export function withCachedModels<T extends ResolvedConfig>(config: T, env: Environment): T {
  const paths = new Map<string, string>();
  for (const { id } of hubModelsOf(config)) {
    const cached = findCachedModel(id, { environment: env });
    if (cached !== undefined) paths.set(id, cached);
  }
  return withModels(config, paths);
}

/**
 * Fetches the models that are not in the cache. Returns the configuration with the paths of all
 * models.
 * @throws ConfigError at the key of a model that cannot be fetched; CancelledError if the signal
 * aborts
 */
export async function withFetchedModels(
  config: ResolvedConfig,
  { env, ...options }: ModelOptions,
  problemAt: ProblemAt | undefined,
): Promise<ResolvedConfig> {
  const paths = new Map<string, string>();
  for (const { id, stageIndex, key } of hubModelsOf(config)) {
    try {
      paths.set(id, await fetchHubModel(id, { ...options, environment: env }));
    } catch (error) {
      if (!(error instanceof ConfigError) || !problemAt) throw error;
      throw configError([problemAt(stageIndex, key, error.message)]);
    }
  }
  return withModels(config, paths);
}

export interface ModelDownloads {
  /**
   * The configuration, in which hub ids are replaced by paths if at least `config.json` of the
   * model is available. Intended for a memory plan.
   */
  readonly config: ResolvedConfig;
  /** A line for each model that is not in the cache. */
  readonly lines: readonly string[];
}

/**
 * Finds the models that a training run would fetch from the hub before its start, and fetches their
 * `config.json`. If the hub does not respond, the line of the model says so.
 */
export async function planDownloads(
  config: ResolvedConfig,
  { env, ...options }: ModelOptions,
): Promise<ModelDownloads> {
  const cached = withCachedModels(config, env);
  const hub = { ...options, environment: env };
  const paths = new Map<string, string>();
  const lines: string[] = [];
  for (const { id } of hubModelsOf(cached)) {
    try {
      const model = await describeHubModel(id, hub);
      const { missingBytes, files, folder } = model;
      lines.push(
        `${id} is not in the cache: a run first fetches ${byteSize(missingBytes)} (${files.length} files) into ${folder}.`,
      );
      await fetchModelShape(model, hub);
      if (files.some((file) => file.path === 'config.json')) paths.set(id, folder);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      lines.push(`Download size and memory of ${id} are unknown: ${error.message}`);
    }
  }
  return { config: withModels(cached, paths), lines };
}
