/** The factors of `mix` and `mix_chord` that follow from batch sizes. */
import { ConfigError } from '@trinity-rft/core';
import { count } from '../parts/aggregate.js';

/** Arguments of `mix` and `mix_chord`. */
export interface BatchSizes {
  /** Name of the policy loss, for messages. */
  readonly owner: string;
  readonly useDynamicBsz: boolean;
  readonly ppoMiniBatchSize: number;
  readonly ppoMicroBatchSizePerGpu: number;
  readonly ngpusTrainer: number;
  readonly trainBatchSizeUsual: number;
  readonly trainBatchSizeExpert: number;
}

/** Sampled by the policy, or demonstrated by an expert. */
export type RowKind = 'usual' | 'expert';

/** What the loss of a kind of rows is multiplied by; `rows` has 1 where a row is of it. [B] */
export type Factor = (kind: RowKind, rows: Uint8Array) => number;

/**
 * Factors that Trinity-RFT makes of batch sizes. For n rows of a kind, T of them in a train batch, G
 * trainers and integer divisions: k = n (mini // micro) / (T // G), or with `useDynamicBsz` k = n
 * (mini // G) / (B (T // G)), which is meant for the micro-batches of verl.
 * @throws ConfigError where a trainer would get no row of a kind
 */
export function batchSizeFactor(options: BatchSizes): Factor {
  const { owner, ppoMiniBatchSize: mini, ppoMicroBatchSizePerGpu: micro, ngpusTrainer } = options;
  const perTrainer = {
    usual: Math.floor(options.trainBatchSizeUsual / ngpusTrainer),
    expert: Math.floor(options.trainBatchSizeExpert / ngpusTrainer),
  };
  if (perTrainer.usual === 0 || perTrainer.expert === 0)
    throw new ConfigError(
      `The policy loss "${owner}" has fewer rows of a kind in a train batch than "ngpusTrainer", ${ngpusTrainer}. Set "normalization" to "kinds", which needs no batch sizes.`,
      { code: 'ARGUMENT_INVALID' },
    );
  return (kind, rows) => {
    const ofKind = count(rows);
    if (ofKind === 0) return 0;
    return options.useDynamicBsz
      ? (ofKind * Math.floor(mini / ngpusTrainer)) / (rows.length * perTrainer[kind])
      : (ofKind * Math.floor(mini / micro)) / perTrainer[kind];
  };
}
