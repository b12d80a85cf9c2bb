/** `DatasetConfig`: which rows are learned from, and a look at them. */
import { readTaskRows } from '@trinity-rft/buffer';
import { TaskError, type RawTask } from '@trinity-rft/core';
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
   * A file, a folder as the Hugging Face `datasets` library lays them out (`train.jsonl`,
   * `test.jsonl`), or the id of a data set of the hub.
   */
  readonly path: string;
  /** Subset of the data set. @default the only one */
  readonly name?: string | undefined;
  /** @default "train" */
  readonly split?: string | undefined;
  /** Passes over the rows. @default 1 */
  readonly totalEpochs?: number | undefined;
  /** Explore steps; wins over `totalEpochs`. @default as many as the epochs make */
  readonly totalSteps?: number | undefined;
}

export interface PreviewOptions {
  /** Gets the text. @default standard output */
  readonly write?: (text: string) => unknown;
  readonly signal?: AbortSignal;
}

export interface DatasetConfig extends DatasetFields {
  readonly split: string;
  readonly totalEpochs: number;
  /**
   * Prints the first rows as JSON and returns them; fewer where there are fewer.
   * @param n @default 5 @throws TaskError when the data set cannot be read, or has no such split
   */
  preview(n?: number, options?: PreviewOptions): Promise<readonly RawTask[]>;
}

/** @throws ConfigError naming each wrong field */
export function DatasetConfig(fields: DatasetFields): DatasetConfig {
  // One that was made before may be given again, with its preview.
  const given = Object.entries(fields).filter(([key]) => key !== 'preview');
  const config = checkFields(
    'DatasetConfig',
    schema,
    Object.fromEntries(given),
  ) as DatasetFields & {
    readonly split: string;
    readonly totalEpochs: number;
  };
  return { ...config, preview: (n = 5, options = {}) => preview(config, n, options) };
}

async function preview(
  { path, name, split = 'train' }: DatasetFields,
  n: number,
  options: PreviewOptions,
): Promise<readonly RawTask[]> {
  if (!Number.isInteger(n) || n < 0)
    throw new TaskError(
      `preview(${n}): expected how many rows to show, an integer of at least 0.`,
      { code: 'PREVIEW_COUNT' },
    );
  const { write = (shown) => process.stdout.write(shown), signal = new AbortController().signal } =
    options;
  const rows = await readTaskRows({
    name: 'preview',
    path,
    split,
    signal,
    ...(name !== undefined && { subsetName: name }),
  });
  const first = rows.slice(0, n);
  write(`${JSON.stringify(first, null, 2)}\n`);
  return first;
}
