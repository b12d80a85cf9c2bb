/**
 * Sample strategies by their names in YAML's `sample_strategy`. A strategy determines how the
 * trainer takes experiences from the buffer.
 */
import { numberArg, stringArg } from '@trinity-rft/core';
import type { SampleStrategy } from '../parts/preset.js';

export const sampleStrategies = {
  default: {
    args: {},
    doc: { summary: 'The oldest experiences of the buffer, whatever their age.', formula: '' },
  },
  warmup: { args: {}, doc: { summary: 'Older name of default.', formula: '' } },
  staleness_control: {
    args: {
      maxStaleness: numberArg(
        undefined,
        { min: 1 },
        'Train steps from the weights that sampled an experience to the weights that it trains; 1 is on policy; unset: no limit.',
      ),
    },
    doc: {
      summary: 'Experiences that are not too stale; older ones are discarded and counted.',
      formula: 'policy version >= max(step - max_staleness, 0)',
    },
  },
  mix: {
    args: {
      expertDataRatio: numberArg(
        0.5,
        { min: 0, max: 1 },
        'Share of each train batch that comes from the expert buffer, rounded up.',
      ),
      sftDatasetName: stringArg(
        'Name of the expert buffer among auxiliary_buffers. Default: sft_dataset.',
      ),
    },
    doc: {
      summary:
        'A part of each batch from an expert buffer of supervised data, the rest from the experience buffer.',
      formula: 'n_expert = ceil(expert_data_ratio * train_batch_size)',
    },
  },
} satisfies Readonly<Record<string, SampleStrategy>>;

/**
 * Returns the number of rows of a train batch that come from the expert buffer: ceil(ratio *
 * batchSize). Rounding errors do not add a row: 0.07 * 100 gives 7.
 */
export const expertCount = (expertDataRatio: number, batchSize: number): number =>
  Math.ceil(expertDataRatio * batchSize - 1e-9);
