/** Entropy losses by their names in YAML's `entropy_loss_fn`. */
import { entropyPart, noEntropy, type EntropyPart } from './entropy-loss.js';

export const entropyLossFns = {
  default: entropyPart({ summary: 'An entropy bonus.', formula: '-entropy_coef agg(H)' }, false),
  mix: entropyPart(
    {
      summary: 'The bonus over sampled rows, without those of an expert.',
      formula: '-entropy_coef agg(H of sampled rows)',
    },
    true,
  ),
  none: noEntropy,
} satisfies Readonly<Record<string, EntropyPart>>;
