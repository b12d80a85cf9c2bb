/** The text by which a sampler proves that it has the weights of the trainer. */
import type { ChatFormat } from '@trinity-rft/chat';

const text =
  'The explorer has the weights of the trainer if both score this text alike: 0, 1, 2, 3; yes or no? { "a": [b] }';
const mostTokens = 48;

export const probeTokens = ({ tokenizer }: ChatFormat, maxModelLen: number): Int32Array =>
  Int32Array.from(tokenizer.encode(text).slice(0, Math.min(mostTokens, maxModelLen)));
