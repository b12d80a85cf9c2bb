/** The entropy losses by the names of YAML's `entropy_loss_fn`. */
import { entropyBonus, noEntropy, type EntropyPart } from './entropy-loss.js';

export const entropyLossFns = { default: entropyBonus, none: noEntropy } satisfies Readonly<Record<string, EntropyPart>>;
