/**
 * Opens the models of a stage outside of a training run, for trying workflows, serving a model and
 * scoring answers.
 */
import { tokenByteTable, type ChatFormat } from '@trinity-rft/chat';
import { openTogether } from '@trinity-rft/core/support';
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { diskAt, linearModulesOf, readModelFolder } from '@trinity-rft/config/internal';
import type { Environment } from '@trinity-rft/buffer/internal';
import type { Runtime } from '@trinity-rft/core';
import type {
  Engine,
  EngineFactory,
  EngineOptions,
  Quantization,
  Sampler,
} from '@trinity-rft/core/engine';
import { openEndpointServer, type EndpointServer } from '@trinity-rft/model';
import type { EngineTable } from '../../context/stage-context.js';
import { tinkerEngine } from '../../outer/outer.js';
import { openAuxiliaryModels, type AuxiliaryModels } from './auxiliary-models.js';
import { openChatFormat } from './chat-format.js';
import { openFrozenEngine, type StageEngine } from './engine.js';
import { builtInEngine, engineNamed } from './engines.js';
import { withCachedModels } from './hub-models.js';
import {
  explainFolderErrors,
  modelOfStage,
  startModelOf,
  startQuantization,
} from './model-folder.js';
import { modelSettings } from './model-settings.js';

export interface FrozenStage {
  readonly stage: StageConfig;
  /** Model folder that the stage starts from. */
  readonly startModel: string;
  readonly extensions: { readonly engines: EngineTable };
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
  /** Environment variables of the stage. */
  readonly env: Environment;
}

interface FrozenModel extends Pick<StageEngine, 'sampler' | 'failed' | 'close'> {
  readonly format: ChatFormat;
  /** Limits and sampling settings of the configuration. */
  readonly settings: ReturnType<typeof modelSettings>;
}

/**
 * Opens the model that the stage starts from, for sampling only.
 * @throws ConfigError when the model cannot be used
 */
export async function openFrozenModel({
  stage,
  startModel,
  extensions,
  runtime,
  signal,
  env,
}: FrozenStage): Promise<FrozenModel> {
  const format = await openChatFormat(stage, startModel);
  const model = { startModel, format, runtime, signal, env };
  const engine = await openFrozenEngine(stage, model, extensions.engines);
  return {
    sampler: engine.sampler,
    failed: engine.failed,
    format,
    settings: modelSettings(stage.explorer.rolloutModel),
    close: () => engine.close(),
  };
}

interface FrozenModels {
  readonly sampler: Sampler;
  readonly format: ChatFormat;
  readonly auxiliary: AuxiliaryModels;
  readonly endpoint: EndpointServer;
  readonly env: Environment;
  /** Aborts with the engine's error once a model can no longer sample. */
  readonly engineFailed: AbortSignal;
  close(): Promise<void>;
}

/**
 * Opens the model and the auxiliary models, and the endpoint through which agents access them.
 * @param served sampler of a process that has already loaded the model. @default no sampler: opens
 * the model
 * @throws ConfigError when a model cannot be used
 */
export function openFrozenModels(context: FrozenStage, served?: Sampler): Promise<FrozenModels> {
  const { stage, startModel, extensions, runtime, env } = context;
  return openTogether(async (stack) => {
    const { sampler, format, failed } =
      served === undefined
        ? stack.use(await openFrozenModel(context))
        : { sampler: served, format: await openChatFormat(stage, startModel), failed: undefined };
    const endpoint = stack.use(await openEndpointServer({ runtime }));
    const { engines } = extensions;
    const auxiliary = stack.use(await openAuxiliaryModels(stage, runtime, engines, endpoint));
    return {
      sampler,
      format,
      auxiliary,
      endpoint,
      env,
      engineFailed: AbortSignal.any([auxiliary.failed, ...(failed ? [failed] : [])]),
      close: () => stack.close(),
    };
  });
}

interface TrainableModel {
  readonly maxModelLen: number;
  /** Names of the linear layers that can have adapters. */
  readonly linearModules: readonly string[];
  /**
   * Opens the engine with the model.
   * @param chosen options that replace those of the configuration
   */
  open(chosen: Partial<EngineOptions>): Promise<Engine>;
}

/**
 * Returns the model of a stage, to be opened for training. A server opens it when a client requests
 * it.
 */
export async function trainableModel({
  stage,
  startModel,
  extensions,
}: Pick<FrozenStage, 'stage' | 'startModel' | 'extensions'>): Promise<TrainableModel> {
  const { threads, memoryBudgetMb, maxModelLen } = stage.model;
  const { tokenizer } = await openChatFormat(stage, startModel);
  const shared = { modelPath: startModel, threads, memoryBudgetMb, maxModelLen };
  const tokenBytes = tokenByteTable(tokenizer);
  const folder = readModelFolder(diskAt('.'), startModel);
  return {
    maxModelLen,
    linearModules: linearModulesOf(folder.kind === 'shape' ? folder.shape : undefined),
    open: (chosen) =>
      explainFolderErrors(modelOfStage(stage), () =>
        engineNamed(extensions.engines, stage.engine).open({ ...shared, ...chosen, tokenBytes }),
      ),
  };
}

interface StartWeights {
  readonly folder: string;
  /** Format of quantised weights. @default not quantised */
  readonly quantization?: Quantization;
  /**
   * Engine that opens these weights and the stage's checkpoints on this machine: the stage's own, or
   * the built-in engine if a Tinker server trains.
   */
  readonly engine: EngineFactory;
}

/**
 * Returns the weights that the stage with this index starts from (version 0). Downloads nothing.
 * @throws ConfigError if the configured model is missing or incomplete; CheckpointError if the
 * last stage before that trains has no valid last checkpoint
 */
export async function startWeights(
  { config: given, engines }: { readonly config: ResolvedConfig; readonly engines: EngineTable },
  stageIndex: number,
  env: Environment = process.env,
): Promise<StartWeights> {
  const config = withCachedModels(given, env);
  const stage = config.stages[stageIndex] ?? config.stages[0];
  const folder = await startModelOf(config, stage);
  const quantization = startQuantization(stage);
  const engine =
    stage.engine === tinkerEngine.name ? builtInEngine : engineNamed(engines, stage.engine);
  return { folder, quantization, engine };
}
