/** Opens the engine of a stage, with a signal that aborts when the engine fails. */
import { tokenByteTable } from '@trinity-rft/chat';
import type { StageConfig } from '@trinity-rft/config';
import { ConfigError, EngineError } from '@trinity-rft/core';
import type { Engine, Sampler } from '@trinity-rft/core/engine';
import type { EngineTable } from '../../context/stage-context.js';
import type { StageModel } from './chat-format.js';
import { withDevice } from './device.js';
import { engineNamed } from './engines.js';
import { engineSettings } from './engine-settings.js';
import { explainFolderErrors, modelOfStage, startQuantization } from './model-folder.js';
import { openWithSampler, usesSamplingServers } from './samplers.js';

export interface StageEngine extends Engine {
  /**
   * Signal that aborts with the engine's error once the engine can no longer sample. Every later
   * rollout would then fail.
   */
  readonly failed: AbortSignal;
}

/**
 * Opens the engine of a stage, with a new or stored adapter if the stage trains one.
 * @param reference true to keep a frozen copy of the initial weights, without adapters, for the KL
 * term
 * @throws ConfigError when the model cannot be used
 */
export async function openEngine(
  given: StageConfig,
  model: StageModel,
  engines: EngineTable,
  reference: boolean,
): Promise<StageEngine> {
  const { startModel, format, runtime, signal, env } = model;
  // A training run has already chosen its device. A command that only opens a model does not
  // measure devices.
  const report = (line: string): void => runtime.logger.info(line);
  const stage = await withDevice(given, startModel, { engines, measure: false, report, signal });
  const { threads, memoryBudgetMb, maxModelLen, lora } = stage.model;
  const factory = engineNamed(engines, stage.engine);
  const quantization = startQuantization(stage);
  const openTrainer = async (): Promise<Engine> => {
    const engine = await explainFolderErrors(modelOfStage(stage), () =>
      factory.open({
        modelPath: startModel,
        reference,
        interactive: stage.mode === 'serve',
        threads,
        memoryBudgetMb,
        maxModelLen,
        lora,
        quantization,
        device: stage.model.device === 'webgpu' ? 'webgpu' : 'cpu',
        seed: runtime.seedFor('lora', stage.stageIndex),
        tokenBytes: tokenByteTable(format.tokenizer),
        settings: engineSettings(stage, env),
        logger: runtime.logger,
        signal,
      }),
    );
    const { maxModelLen: longest } = engine.sampler;
    // An engine that only trains may report 0.
    const isShort = longest > 0 && longest < maxModelLen;
    if (stage.mode !== 'both' || stage.sampler === undefined || !isShort) return engine;
    await engine.close().catch(() => undefined);
    throw tooShort(longest, maxModelLen);
  };
  const { capabilities } = factory;
  const engine = usesSamplingServers(stage)
    ? await openWithSampler(stage, model, capabilities, openTrainer)
    : await openTrainer();
  const failure = new AbortController();
  return {
    capabilities: engine.capabilities,
    trainer: engine.trainer,
    sampler: watchSampler(engine.sampler, failure),
    failed: failure.signal,
    close: () => engine.close(),
  };
}

const tooShort = (longest: number, sampled: number): ConfigError =>
  new ConfigError(
    `The engine that trains takes texts of at most ${longest} tokens, and the servers sample texts of up to model.max_model_len, ${sampled}. Set model.max_model_len: ${longest}, and max_prompt_tokens and max_response_tokens to at most ${longest} together, or raise the limit of the engine or of its server.`,
    { code: 'TRAINER_TOO_SHORT' },
  );

/**
 * Opens an engine that only samples. It uses the weights with which it was opened, as version 0.
 */
export async function openFrozenEngine(
  stage: StageConfig,
  model: StageModel,
  engines: EngineTable,
): Promise<StageEngine> {
  const engine = await openEngine(stage, model, engines, false);
  try {
    await sampleFromStart(engine);
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Makes the sampler use the weights with which the engine was opened, as version 0. */
export async function sampleFromStart({ trainer, sampler }: Engine): Promise<void> {
  await trainer.publish(0);
  await sampler.adopt({ kind: 'published' }, 0);
}

/** Codes of errors after which the engine is dead, as `EngineFactory` in core defines them. */
const fatalCodes: ReadonlySet<string> = new Set(['ENGINE_WORKER_DIED', 'ENGINE_CLOSED']);

/** Wraps a sampler so that it aborts `failure` once its engine has died. */
export function watchSampler(sampler: Sampler, failure: AbortController): Sampler {
  const watch = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof EngineError && fatalCodes.has(error.code)) failure.abort(error);
      throw error;
    }
  };
  const score = sampler.score?.bind(sampler);
  return {
    maxModelLen: sampler.maxModelLen,
    get policyVersion() {
      return sampler.policyVersion;
    },
    adopt: (source, version) => watch(() => sampler.adopt(source, version)),
    sample: (prompt, options, signal, onTokens) =>
      watch(() => sampler.sample(prompt, options, signal, onTokens)),
    score: score && ((row, signal) => watch(() => score(row, signal))),
  };
}

/**
 * Awaits `work`. If `engineFailed` aborts before `work` ends, rejects with the engine's error
 * instead, so that the cause is reported and not the cancellation that `work` throws.
 */
export async function unlessEngineFails<T>(
  engineFailed: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    const result = await work();
    engineFailed.throwIfAborted();
    return result;
  } catch (error) {
    throw engineFailed.aborted ? engineFailed.reason : error;
  }
}
