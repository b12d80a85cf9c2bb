/**
 * Opens the auxiliary models, which workflows can call and which are never trained, such as judges
 * and simulated users.
 */
import { tokenByteTable } from '@trinity-rft/chat';
import type { AuxiliaryModelConfig, AuxiliarySource, StageConfig } from '@trinity-rft/config';
import type { Runtime } from '@trinity-rft/core';
import type { Engine } from '@trinity-rft/core/engine';
import { knowSecret } from '@trinity-rft/core/support';
import type { AttemptKey } from '@trinity-rft/explorer';
import { createRolloutModel, type EndpointServer } from '@trinity-rft/model';
import { type AgentModel } from '@trinity-rft/workflow';
import { createRemoteModel } from '@trinity-rft/workflow';
import type { EngineTable } from '../../context/stage-context.js';
import { readChatFormat } from './chat-format.js';
import { mountedModel } from './endpoint.js';
import { watchSampler } from './engine.js';
import { engineNamed } from './engines.js';
import { explainFolderErrors } from './model-folder.js';
import { modelSettings, seedKeyOf } from './model-settings.js';

export interface AuxiliaryModels {
  /**
   * Returns the auxiliary models for one attempt by name, in the order of the configuration. While
   * a model waits for a remote service, its name is in `waits`.
   */
  models(key: AttemptKey, waits: Set<string>): ReadonlyMap<string, AgentModel>;
  /** Aborts with the engine's error once a model can no longer sample. */
  readonly failed: AbortSignal;
  close(): Promise<void>;
}

type CreateModel = (key: AttemptKey, waits: Set<string>) => AgentModel;

/**
 * Opens one engine per model folder, which all models of that folder share.
 * @throws ConfigError when a folder cannot be used
 */
export async function openAuxiliaryModels(
  stage: StageConfig,
  runtime: Runtime,
  engines: EngineTable,
  endpoint: EndpointServer,
): Promise<AuxiliaryModels> {
  const failure = new AbortController();
  const opened = new Map<string, Engine>();
  const close = async (): Promise<void> => {
    await Promise.all([...opened.values()].map((engine) => engine.close()));
    opened.clear();
  };
  const parts = { stage, runtime, engines, opened, failure, endpoint };
  try {
    const factories = new Map<string, CreateModel>();
    for (const model of stage.explorer.auxiliaryModels) {
      const { source } = model;
      const factory =
        source.kind === 'remote'
          ? remoteModel(stage, model, source)
          : await embeddedModel(model, source, parts);
      factories.set(model.name, factory);
    }
    return {
      models: (key, waits) =>
        new Map([...factories].map(([name, create]) => [name, create(key, waits)])),
      failed: failure.signal,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Returns a function that creates models of a remote service. The timeout of a call is that of a
 * whole attempt.
 */
function remoteModel(
  { explorer: { maxTimeoutMs } }: StageConfig,
  { temperature, topP, maxResponseTokens, enableThinking }: AuxiliaryModelConfig,
  { baseUrl, apiKey, modelPath }: AuxiliarySource & { readonly kind: 'remote' },
): CreateModel {
  knowSecret(apiKey);
  return ({ signal }, waits) =>
    createRemoteModel({
      baseURL: baseUrl,
      apiKey,
      modelPath,
      defaults: { temperature, topP, maxTokens: maxResponseTokens },
      enableThinking,
      timeoutMs: maxTimeoutMs,
      signal,
      waits,
    });
}

type FolderSource = AuxiliarySource & { readonly kind: 'folder' };

interface EmbeddedParts {
  readonly stage: StageConfig;
  readonly runtime: Runtime;
  readonly engines: EngineTable;
  /** Open engines by engine name and model folder. */
  readonly opened: Map<string, Engine>;
  readonly failure: AbortController;
  readonly endpoint: EndpointServer;
}

/**
 * Opens the model in a folder. The model samples from the weights with which the engine was opened.
 * Its policy version is -1, because no weights are published to the engine. As for the trained
 * model, the seed of each call is derived from the seed of the training run, the stage, model,
 * batch, task, rollout, attempt and call.
 */
async function embeddedModel(
  model: AuxiliaryModelConfig,
  source: FolderSource,
  { stage, runtime, engines, opened, failure, endpoint }: EmbeddedParts,
): Promise<CreateModel> {
  const { modelPath: folder, engine: engineName } = source;
  const { threads, memoryBudgetMb } = stage.model;
  const id = `${engineName}:${folder}`;
  const key = `explorer.auxiliary_models "${model.name}"`;
  const format = await explainFolderErrors({ key, folder }, () => readChatFormat(folder, model));
  const engine =
    opened.get(id) ??
    (await explainFolderErrors({ key, folder }, () =>
      engineNamed(engines, engineName).open({
        modelPath: folder,
        threads,
        memoryBudgetMb,
        tokenBytes: tokenByteTable(format.tokenizer),
      }),
    ));
  opened.set(id, engine);
  const shared = {
    ...modelSettings(model),
    sampler: watchSampler(engine.sampler, failure),
    format,
    modelPath: model.name,
    clientSampling: 'respect',
    recordHistory: false,
    runtime,
    notices: new Set<string>(),
  } as const;
  return ({ task, run, attempt, signal }) => {
    const attemptId = seedKeyOf(task, run);
    return mountedModel(endpoint, { signal }, (mounted) =>
      createRolloutModel({
        ...shared,
        mounted,
        seedFor: (call) =>
          runtime.seedFor('auxiliary', stage.stageIndex, model.name, attemptId, run, attempt, call),
        signal,
      }),
    );
  };
}
