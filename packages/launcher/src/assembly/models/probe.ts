/** Text that a sampler scores to prove that it has the weights of the trainer. */
import type { ChatFormat } from '@trinity-rft/chat';
import type { TrainEngine } from '@trinity-rft/core/engine';
import type { DeliveryProbe } from '@trinity-rft/core/store';

const text =
  'The explorer has the weights of the trainer if both score this text alike: 0, 1, 2, 3; yes or no? { "a": [b] }';
const mostTokens = 48;

export const probeTokens = ({ tokenizer }: ChatFormat, maxModelLen: number): Int32Array =>
  Int32Array.from(tokenizer.encode(text).slice(0, Math.min(mostTokens, maxModelLen)));

/**
 * Returns the tokens of the text with their log-probabilities under the trainer's current weights.
 */
export async function scoreProbe(trainer: TrainEngine, tokens: Int32Array): Promise<DeliveryProbe> {
  const rows = [{ tokens, promptLength: 1, temperature: 1 }];
  const { logprobs } = await trainer.forward({ rows });
  return { tokens: [...tokens], promptLength: 1, logprobs: [...logprobs] };
}
