/** Finds the experience stores of a run, and the versions whose weights still exist. */
import { ConfigError } from '@trinity-rft/core';
import type { StageConfig } from '@trinity-rft/config';
import type { AdapterOptions, EngineFactory, Quantization } from '@trinity-rft/core/engine';
import { listCheckpoints } from '@trinity-rft/trainer';
import { builtInEngine, startWeights } from '@trinity-rft/launcher/parts';
import { readConfiguration, type ConfigurationOptions } from '@trinity-rft/launcher';
import { databasesIn, isThere, locateRun } from './folder.js';
import { stageFolders } from './stages.js';

/** Experience store of one stage, and the weights that sampled its experiences. */
export interface VerifyTarget {
  readonly database: string;
  /** Folders of weights by policy version. */
  readonly weights: ReadonlyMap<number, string>;
  /** LoRA adapter that is added to the weights of version 0; undefined if the stage has none. */
  readonly lora?: AdapterOptions | undefined;
  /**
   * Quantisation of the base weights that the adapter is added to.
   * @default no quantisation
   */
  readonly quantization?: Quantization;
  /** Engine that opens the weights. */
  readonly engine: EngineFactory;
}

/** Options for reading the configuration, if `run` names a configuration. */
export type TargetOptions = Pick<
  ConfigurationOptions,
  'plugins' | 'pluginDirs' | 'workflows' | 'rewardFns' | 'algorithms' | 'engines' | 'cwd' | 'env'
>;

/**
 * Finds the experience stores of a run, with the weights of its stages.
 * @param run a configuration file, or the folder of a run or of one of its stages. Only a
 * configuration names the weights that a stage starts from
 * @param isWanted selects stages of a configuration; their experience stores need not exist
 * @throws ConfigError when `run` does not exist, or no experiences are recorded
 */
export async function findTargets(
  run: string,
  options: TargetOptions,
  isWanted: (stage: StageConfig) => boolean = () => true,
): Promise<readonly VerifyTarget[]> {
  const { place, isFolder } = await locateRun(run, options.cwd);
  const targets = isFolder
    ? await targetsOfFolder(place)
    : await targetsOfConfig(place, options, isWanted);
  if (targets.length > 0) return targets;
  throw new ConfigError(
    `${place} has no recorded experiences. Expected an experience store (buffer/*.db). Run it first, with another storage than memory.`,
    { code: 'NOTHING_RECORDED' },
  );
}

async function targetsOfConfig(
  configPath: string,
  options: TargetOptions,
  isWanted: (stage: StageConfig) => boolean,
): Promise<readonly VerifyTarget[]> {
  const { loaded, engines } = await readConfiguration({
    ...options,
    configPath,
    checkNames: false,
    readsRun: true,
  });
  const { config } = loaded;
  const targets: VerifyTarget[] = [];
  for (const stage of config.stages.filter(isWanted)) {
    const { experienceBuffer } = stage.buffer.trainerInput;
    const database = experienceBuffer.storageType === 'file' ? undefined : experienceBuffer.path;
    if (database === undefined || !(await isThere(database))) continue;
    // A stage may train on the experiences that an earlier stage sampled.
    if (targets.some((target) => target.database === database)) continue;
    const { folder, quantization, engine } = await startWeights(
      { config, engines },
      stage.stageIndex,
      options.env,
    );
    const weights = new Map([[0, folder], ...(await checkpointsOf(stage.jobDirectory))]);
    targets.push({ database, weights, lora: stage.model.lora, quantization, engine });
  }
  return targets;
}

/** Experience stores in the folder of a run and in the folders of its stages. */
async function targetsOfFolder(folder: string): Promise<readonly VerifyTarget[]> {
  const folders = [folder, ...(await stageFolders(folder))];
  const targets = await Promise.all(folders.map(storesOf));
  return targets.flat();
}

async function storesOf(jobDirectory: string): Promise<readonly VerifyTarget[]> {
  const databases = await databasesIn(jobDirectory);
  if (databases.length === 0) return [];
  const weights = new Map(await checkpointsOf(jobDirectory));
  return databases.map((database) => ({ database, weights, engine: builtInEngine }));
}

/** Folders of checkpoints by version: weights after train step s have version s. */
async function checkpointsOf(
  jobDirectory: string,
): Promise<readonly (readonly [version: number, folder: string])[]> {
  const checkpoints = await listCheckpoints(jobDirectory);
  return checkpoints.map(({ manifest, directory }) => [manifest.step, directory] as const);
}
