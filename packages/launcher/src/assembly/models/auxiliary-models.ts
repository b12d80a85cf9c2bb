/** The models of a stage that workflows may use and that are never trained. */
import {
  createChatFormat,
  loadTokenizer,
  tokenByteTable,
  type ChatFormat,
} from '@trinity-rft/chat';
import type { AuxiliaryModelConfig, AuxiliarySource } from '@trinity-rft/config';
import { CheckpointError, ConfigError, EngineError, taskKey, type Engine } from '@trinity-rft/core';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import type { AttemptKey } from '@trinity-rft/explorer';
import { createRolloutModel, type EndpointServer } from '@trinity-rft/model';
import { createRemoteModel, type AgentModel } from '@trinity-rft/workflow';
import type { StageContext } from '../../context/stage-context.js';
import { mountedModel } from './endpoint.js';
import { watched } from './engine.js';

export interface AuxiliaryModels {
  /** A model for one attempt each, by name, in the order of the file. */
  models(key: AttemptKey): ReadonlyMap<string, AgentModel>;
  /** Aborts with the engine's error when one of them cannot sample any more. */
  readonly gone: AbortSignal;
  close(): Promise<void>;
}

type CreateModel = (key: AttemptKey) => AgentModel;

/**
 * Folders get an engine of their own in a worker of this process, one for all models of one folder.
 * @throws ConfigError when a folder cannot be used
 */
export async function openAuxiliaryModels(
  context: StageContext,
  endpoint: EndpointServer,
): Promise<AuxiliaryModels> {
  const gone = new AbortController();
  const engines = new Map<string, Engine>();
  const close = async (): Promise<void> => {
    await Promise.all([...engines.values()].map((engine) => engine.close()));
    engines.clear();
  };
  try {
    const factories = new Map<string, CreateModel>();
    for (const model of context.stage.explorer.auxiliaryModels) {
      const { source } = model;
      const factory =
        source.kind === 'remote'
          ? remote(context, model, source)
          : await embedded(context, { model, source, engines, gone, endpoint });
      factories.set(model.name, factory);
    }
    const models: AuxiliaryModels['models'] = (key) =>
      new Map([...factories].map(([name, create]) => [name, create(key)]));
    return { models, gone: gone.signal, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A call may take as long as an attempt. */
function remote(
  { stage }: StageContext,
  model: AuxiliaryModelConfig,
  source: AuxiliarySource & { readonly kind: 'remote' },
): CreateModel {
  const { temperature, topP, maxResponseTokens: maxTokens, enableThinking } = model;
  return ({ signal }) =>
    createRemoteModel({
      baseURL: source.baseUrl,
      apiKey: source.apiKey,
      modelPath: source.modelPath,
      defaults: { temperature, topP, maxTokens },
      ...(enableThinking !== undefined && { enableThinking }),
      timeoutMs: stage.explorer.maxTimeoutMs,
      signal,
    });
}

interface EmbeddedParts {
  readonly model: AuxiliaryModelConfig;
  readonly source: AuxiliarySource & { readonly kind: 'folder' };
  readonly engines: Map<string, Engine>;
  readonly gone: AbortController;
  readonly endpoint: EndpointServer;
}

/**
 * Seeds derive from (run seed, stage, model, batch, task, run, attempt, call), as those of the
 * trained model do.
 */
async function embedded(
  context: StageContext,
  { model, source, engines, gone, endpoint }: EmbeddedParts,
): Promise<CreateModel> {
  const { stage, runtime } = context;
  const { modelPath } = source;
  const format = await aboutFolder(model, modelPath, () => openFormat(model, modelPath));
  const engine =
    engines.get(modelPath) ??
    (await aboutFolder(model, modelPath, () => openSampler(context, modelPath, format)));
  engines.set(modelPath, engine);
  const sampler = watched(engine.sampler, gone);
  const { maxPromptTokens, maxResponseTokens, maxModelLen, minResponseTokens, enableThinking } =
    model;
  const notices = new Set<string>();
  return ({ task, run, attempt, signal }) => {
    const key = taskKey({ batch: task.batchId, task: task.taskId, run, step: 0, suffix: '' });
    return mountedModel(endpoint, signal, (mounted) =>
      createRolloutModel({
        mounted,
        sampler,
        format,
        modelPath: model.name,
        limits: { maxPromptTokens, maxResponseTokens, maxModelLen },
        defaults: {
          minTokens: minResponseTokens,
          temperature: model.temperature,
          topP: model.topP,
          topK: model.topK,
          maxTokens: maxResponseTokens,
        },
        ...(enableThinking !== undefined && { enableThinking }),
        clientSampling: 'respect',
        recordHistory: false,
        seedFor: (call) =>
          runtime.seedFor('auxiliary', stage.stageIndex, model.name, key, run, attempt, call),
        signal,
        runtime,
        notices,
      }),
    );
  };
}

async function openFormat(model: AuxiliaryModelConfig, modelPath: string): Promise<ChatFormat> {
  const { chatTemplate, toolCallParser, reasoningParser } = model;
  return createChatFormat({
    tokenizer: await loadTokenizer(modelPath),
    ...(chatTemplate !== undefined && { chatTemplate }),
    ...(toolCallParser !== undefined && { toolCallParser }),
    ...(reasoningParser !== undefined && { reasoningParser }),
  });
}

/** It samples from the weights it opens with: version -1, since nothing is ever published to it. */
function openSampler(
  { stage }: StageContext,
  modelPath: string,
  format: ChatFormat,
): Promise<Engine> {
  const { threads, memoryBudgetMb } = stage.model;
  return createOnnxEngine({
    modelPath,
    tokenBytes: tokenByteTable(format.tokenizer),
    ...(threads !== undefined && { threads }),
    ...(memoryBudgetMb !== undefined && { memoryBudgetBytes: memoryBudgetMb * 2 ** 20 }),
  });
}

/** A folder that cannot be used is the user's to mend. */
async function aboutFolder<T>(
  { name }: AuxiliaryModelConfig,
  modelPath: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const unusable =
      cause instanceof CheckpointError ||
      cause instanceof ConfigError ||
      (cause instanceof EngineError && cause.code === 'ENGINE_OPTIONS');
    if (!unusable) throw cause;
    const folder = cause.message.includes(modelPath) ? '' : ` ${modelPath}`;
    throw new ConfigError(`explorer.auxiliary_models "${name}"${folder}: ${cause.message}`, {
      code: 'MODEL_UNUSABLE',
      cause,
    });
  }
}
