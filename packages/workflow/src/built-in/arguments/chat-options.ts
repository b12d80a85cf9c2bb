/** A task's `rolloutArgs` as options of a chat. */
import type { ChatOptions, RolloutArgs } from '@trinity-rft/core';

/**
 * What is not set is left out, so that the model's own settings hold. `n` and `logprobs` are the
 * workflow's own business.
 */
export function chatOptions({ temperature, topP, topK, maxTokens }: RolloutArgs): ChatOptions {
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(maxTokens !== undefined && { maxTokens }),
  };
}
