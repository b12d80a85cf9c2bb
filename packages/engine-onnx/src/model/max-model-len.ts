/** The longest sequence that is asked for, and the longest that a model was made for. */
import { EngineError } from '@trinity-rft/core';

import type { ModelConfig } from './config.js';

/** @throws EngineError when the model has fewer positions */
export function checkMaxModelLen(
  {
    maxModelLen,
    modelPath,
  }: { readonly maxModelLen?: number | undefined; readonly modelPath: string },
  { maxPositions }: ModelConfig,
): void {
  if (maxModelLen === undefined || maxModelLen <= maxPositions) return;
  throw new EngineError(
    `maxModelLen is ${maxModelLen}, but the model in ${modelPath} has only ${maxPositions} positions (max_position_embeddings); set it to that or less.`,
    { code: 'ENGINE_OPTIONS' },
  );
}
