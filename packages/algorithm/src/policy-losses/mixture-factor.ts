/** Factors by which `mix` and `mix_chord` multiply their two losses, computed from batch sizes. */
import {
  type Arg,
  booleanArg,
  ConfigError,
  numberArg,
  onlyWith,
  type ArgValues,
} from '@trinity-rft/core';
import { count } from '../parts/aggregate.js';

const withBatchSizes = <T>(arg: Arg<T>): Arg<T> =>
  onlyWith(
    'normalization: batch_sizes',
    ({ normalization }) => normalization === 'batch_sizes',
    arg,
  );
const sizeArg = (help: string): Arg<number> => withBatchSizes(numberArg(1, { min: 1 }, help));

export const batchSizeArgs = {
  useDynamicBsz: withBatchSizes(
    booleanArg(false, 'Read with batch_sizes: whether micro-batches are packed by tokens.'),
  ),
  ppoMiniBatchSize: sizeArg('Read with batch_sizes: rows in an optimizer batch.'),
  ppoMicroBatchSizePerGpu: sizeArg('Read with batch_sizes: rows in a micro-batch.'),
  ngpusTrainer: sizeArg('Read with batch_sizes: number of trainers.'),
  trainBatchSizeUsual: sizeArg('Read with batch_sizes: sampled rows in a train batch.'),
  trainBatchSizeExpert: sizeArg('Read with batch_sizes: demonstrated rows in a train batch.'),
};

interface BatchSizes extends ArgValues<typeof batchSizeArgs> {
  /** Name of the policy loss, used in error messages. */
  readonly owner: string;
}

/** Kind of a row: `usual` if the policy sampled it, `expert` if an expert demonstrated it. */
export type RowKind = 'usual' | 'expert';

/**
 * Returns the factor by which the loss over one kind of rows is multiplied.
 * @param rows 1 for each row of that kind. [B]
 */
export type Factor = (kind: RowKind, rows: Uint8Array) => number;

/**
 * Computes factors from batch sizes as Trinity-RFT does. A batch of B rows contains n rows of a
 * kind, a train batch contains T rows of the kind, and G is the number of trainers. The factor is
 * k = n (mini // micro) / (T // G). With `useDynamicBsz`, which is meant for verl's micro-batches,
 * k = n (mini // G) / (B (T // G)). Here // is integer division, mini is the mini-batch size and
 * micro the micro-batch size per GPU.
 * @throws ConfigError if a trainer would get no row of a kind
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
