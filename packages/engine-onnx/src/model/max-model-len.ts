import { EngineError } from '@trinity-rft/core';

import type { ModelConfig } from './config.js';

/**
 * Checks the requested maximum length against the context length of a model.
 * @throws EngineError when the requested length exceeds the context length
 */
export function checkMaxModelLen(
  {
    maxModelLen,
    modelPath,
  }: { readonly maxModelLen?: number | undefined; readonly modelPath: string },
  { maxPositions, positionsKey: key }: ModelConfig,
): void {
  if (maxModelLen === undefined || maxModelLen <= maxPositions) return;
  throw new EngineError(
    `The longest sequence (model.max_model_len, maxModelLen) is ${maxModelLen} tokens, but the model in ${modelPath} has only ${maxPositions} positions (${key ?? 'max_position_embeddings'}); set it to that or less.`,
    { code: 'ENGINE_OPTIONS' },
  );
}
