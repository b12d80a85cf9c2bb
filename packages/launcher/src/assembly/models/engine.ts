/** The engine of a stage, and what becomes of the stage when the engine dies. */
import { tokenByteTable, type ChatFormat } from '@trinity-rft/chat';
import type { LoraConfig } from '@trinity-rft/config';
import { EngineError, type Engine, type Sampler } from '@trinity-rft/core';
import { createOnnxEngine, type LoraOptions } from '@trinity-rft/engine-onnx';
import type { StageContext } from '../../context/stage-context.js';
import { aboutModel } from './model-folder.js';

export const bytesPerMebibyte = 2 ** 20;

export interface StageEngine extends Engine {
  /**
   * Aborts with the engine's error when it cannot sample any more: runs fail one by one then, and
   * none is the workflow's fault.
   */
  readonly gone: AbortSignal;
}

/**
 * Opens the stage's model, with adapters if it trains some; `reference` keeps its first weights for
 * the KL term: with adapters, those without.
 * @throws ConfigError when the model cannot be used
 */
export async function openEngine(
  context: StageContext,
  options: { readonly reference: boolean; readonly format: ChatFormat },
): Promise<StageEngine> {
  const { stage, startModel, runtime } = context;
  const { threads, memoryBudgetMb, maxModelLen, lora } = stage.model;
  const engine = await aboutModel(context, () =>
    createOnnxEngine({
      modelPath: startModel,
      reference: options.reference,
      maxModelLen,
      tokenBytes: tokenByteTable(options.format.tokenizer),
      ...(lora && { lora: adaptersOf(lora, runtime.seedFor('lora', stage.stageIndex)) }),
      ...(threads !== undefined && { threads }),
      ...(memoryBudgetMb !== undefined && { memoryBudgetBytes: memoryBudgetMb * bytesPerMebibyte }),
    }),
  );
  const gone = new AbortController();
  const { capabilities, trainer } = engine;
  return {
    capabilities,
    trainer,
    sampler: watched(engine.sampler, gone),
    gone: gone.signal,
    close: () => engine.close(),
  };
}

function adaptersOf(lora: LoraConfig, seed: number): LoraOptions {
  if (lora.path !== undefined) return { path: lora.path };
  const { rank, alpha, targetModules } = lora;
  return { rank, alpha, targetModules, seed };
}

const goneCodes = new Set(['ENGINE_WORKER_DIED', 'ENGINE_CLOSED']);

/** `gone` aborts when the engine behind the sampler has died. */
export function watched(sampler: Sampler, gone: AbortController): Sampler {
  const watch = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof EngineError && goneCodes.has(error.code)) gone.abort(error);
      throw error;
    }
  };
  return {
    maxModelLen: sampler.maxModelLen,
    get policyVersion() {
      return sampler.policyVersion;
    },
    adopt: (source, version) => sampler.adopt(source, version),
    sample: (prompt, options, signal) => watch(() => sampler.sample(prompt, options, signal)),
    ...(sampler.score && { score: (row, signal) => watch(() => sampler.score!(row, signal)) }),
  };
}
