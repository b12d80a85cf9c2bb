/** Defines `DatasetConfig`: the rows to train or evaluate on, and a function that previews them. */
import { readTaskRows } from '@trinity-rft/buffer';
import { type RawTask, TaskError } from '@trinity-rft/core';
import { z } from 'zod';
import { checkFields, count, text } from './fields.js';

const schema = z.strictObject({
  path: text,
  name: text.optional(),
  split: text.default('train'),
  totalEpochs: count.default(1),
  totalSteps: count.optional(),
});

export interface DatasetFields {
  /**
   * Location of the data set: a file, a folder in the layout of Hugging Face `datasets`
   * (`train.jsonl`, `test.jsonl`), or the id of a data set on the hub.
   */
  readonly path: string;
  /** Name of a subset of the data set. @default the only subset */
  readonly name?: string;
  /** Name of a split of the data set. @default "train" */
  readonly split?: string;
  /** Number of passes over the rows. @default the value in the configuration file, otherwise 1 */
  readonly totalEpochs?: number;
  /**
   * Number of explore steps. Takes precedence over `totalEpochs`.
   * @default the value in the configuration file, unless `totalEpochs` is given
   */
  readonly totalSteps?: number;
}

export interface PreviewOptions {
  /** Function that prints the preview. @default writes to standard output */
  readonly write?: (text: string) => unknown;
  readonly signal?: AbortSignal;
}

export interface DatasetConfig extends DatasetFields {
  readonly split: string;
  readonly totalEpochs: number;
  /**
   * Prints the first `n` rows (default 5) as JSON and returns them.
   * @throws TaskError if the data set cannot be read, or has no such split
   */
  preview(n?: number, options?: PreviewOptions): Promise<readonly RawTask[]>;
}

/**
 * Validates the fields and adds the defaults.
 * @throws ConfigError naming each invalid field
 */
export function DatasetConfig(fields: DatasetFields): DatasetConfig {
  // The argument may be a DatasetConfig, which has a preview.
  const { preview: _, ...plain } = fields as Partial<DatasetConfig>;
  const config = checkFields('DatasetConfig', schema, plain);
  return { ...config, preview: (n = 5, options = {}) => preview(config, n, options) };
}

async function preview(
  { path, name, split = 'train' }: DatasetFields,
  n: number,
  options: PreviewOptions,
): Promise<readonly RawTask[]> {
  if (!Number.isInteger(n) || n < 0)
    throw new TaskError(`preview(${n}): expected the number of rows, an integer of at least 0.`, {
      code: 'PREVIEW_COUNT',
    });
  const { write = (json) => process.stdout.write(json), signal = new AbortController().signal } =
    options;
  const rows = await readTaskRows({ name: 'preview', path, split, signal, subsetName: name });
  const first = rows.slice(0, n);
  write(`${JSON.stringify(first, null, 2)}\n`);
  return first;
}
