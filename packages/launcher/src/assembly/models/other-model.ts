/** Adapts a configuration for evaluating another model than the one that it names. */
import path from 'node:path';
import type { ResolvedConfig } from '@trinity-rft/config';
import { diskAt, weightsOf } from '@trinity-rft/config/internal';
import { ConfigError } from '@trinity-rft/core';
import { builtInEngine } from './engines.js';

/**
 * Returns a configuration of the last stage only, with the tokenizer and weights of `model`.
 * @param model Hugging Face folder, such as a checkpoint, or GGUF file
 * @throws ConfigError if the stage does not sample with weights on this machine
 */
export function withOtherModel<T extends ResolvedConfig>(config: T, model: string): T {
  const stage = config.stages.at(-1) ?? config.stages[0];
  if (stage.engine !== builtInEngine.name || stage.external)
    throw new ConfigError(
      `${model} cannot be evaluated with this configuration, which samples elsewhere (${stage.external?.name ?? stage.engine}). Evaluate both with trinity eval --json, and compare the files.`,
      { code: 'MODEL_ELSEWHERE' },
    );
  const own = { modelPath: path.resolve(model), isLocal: true, hubId: undefined };
  // Checkpoints contain merged adapters, so no adapter is added.
  const weights = { ...stage.model, ...own, fromPreviousStage: false, lora: undefined };
  const { canQuantize } = stage.model.base;
  const base = weightsOf(weights, undefined, { disk: diskAt('.'), canQuantize });
  return { ...config, stages: [{ ...stage, model: { ...weights, base } }] };
}
