/** The factors between kinds of rows that follow from batch sizes. */
import { ConfigError } from '@trinity-rft/core';

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

/** What the loss of a kind of rows is multiplied by. */
export type Factor = (kind: 0 | 1, rowsOfKind: number, rows: number) => number;

/**
 * Factors that Trinity-RFT makes of batch sizes, see `kindsTerm`.
 * @throws ConfigError where a trainer would get no row of a kind
 */
export function batchSizeFactor(options: BatchSizes): Factor {
  const { owner, ppoMiniBatchSize: mini, ppoMicroBatchSizePerGpu: micro, ngpusTrainer } = options;
  const perTrainer = [options.trainBatchSizeUsual, options.trainBatchSizeExpert].map((rows) =>
    Math.floor(rows / ngpusTrainer),
  );
  if (perTrainer.includes(0))
    throw new ConfigError(
      `The policy loss "${owner}" has fewer rows of a kind in a train batch than "ngpusTrainer", ${ngpusTrainer}. Set "normalization" to "kinds", which needs no batch sizes.`,
      { code: 'ARGUMENT_INVALID' },
    );
  return (kind, rowsOfKind, rows) =>
    options.useDynamicBsz
      ? (rowsOfKind * Math.floor(mini / ngpusTrainer)) / (rows * perTrainer[kind]!)
      : (rowsOfKind * Math.floor(mini / micro)) / perTrainer[kind]!;
}
