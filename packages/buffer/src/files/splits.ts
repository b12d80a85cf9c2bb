/** Finds the split in the name of a file, and parses the notation for parts of splits. */
import { TaskError } from '@trinity-rft/core';

/** Canonical names of splits, keyed by their synonyms, as in Hugging Face `datasets`. */
const synonyms: Readonly<Record<string, string>> = {
  training: 'train',
  valid: 'validation',
  val: 'validation',
  dev: 'validation',
  testing: 'test',
  eval: 'test',
  evaluation: 'test',
};
const keywords = new Set(['train', 'validation', 'test', ...Object.keys(synonyms)]);

/** Returns the part of a path after the last `/`. */
export const fileName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/**
 * Converts synonyms of a split to one name, such as `val` to `validation`. Unknown names are
 * unchanged.
 */
export const canonicalSplit = (name: string): string => synonyms[name.toLowerCase()] ?? name;

/**
 * Returns the split, the index and the number of shards in a name such as
 * `train-00000-of-00003.parquet`. Returns undefined for other names.
 */
export function shardOf(
  path: string,
): { readonly split: string; readonly index: number; readonly count: number } | undefined {
  const found = /^(?<split>.+?)-(?<index>\d{5})-of-(?<count>\d{5})(?:-[\da-f]+)?\./.exec(
    fileName(path),
  );
  const { split, index, count } = found?.groups ?? {};
  if (split === undefined) return undefined;
  return { split, index: Number(index), count: Number(count) };
}

/**
 * Returns the split that a relative path (with `/`) names. The name of the split may be part of a
 * shard name, a word in the file name, or the name of a folder. Returns undefined if the path names
 * no split.
 */
export function splitOf(path: string): string | undefined {
  const shard = shardOf(path);
  if (shard) return canonicalSplit(shard.split);
  const parts = path.split('/');
  const stem = fileName(path).replace(/\..*$/, '');
  for (const text of [stem, ...parts.slice(0, -1).reverse()]) {
    const word = text
      .toLowerCase()
      .split(/[^a-z]+/)
      .find((part) => keywords.has(part));
    if (word) return canonicalSplit(word);
  }
  return undefined;
}

/**
 * A part of a split, as in `train[10%:20%]`. `from` and `to` are row numbers or percentages.
 * Negative values count from the end.
 */
export interface SplitPart {
  readonly split: string;
  readonly from?: number;
  readonly to?: number;
  readonly unit: 'rows' | 'percent';
}

/**
 * Parses the notation of Hugging Face `datasets`: `train`, `test[:100]`, `train[10%:20%]` or
 * `train+test`.
 * @throws TaskError for any other string
 */
export function parseSplit(text: string): readonly SplitPart[] {
  return text.split('+').map((part) => {
    const found =
      /^\s*(?<split>[\w.-]+)\s*(?:\[(?:(?<from>-?\d+)(?<fromPercent>%)?)?:(?:(?<to>-?\d+)(?<toPercent>%)?)?\])?\s*$/.exec(
        part,
      );
    const { split, from, to, fromPercent, toPercent } = found?.groups ?? {};
    const percent = fromPercent !== undefined || toPercent !== undefined;
    const mixed =
      percent && ((from !== undefined && !fromPercent) || (to !== undefined && !toPercent));
    if (split === undefined || mixed) {
      throw new TaskError(
        `"${text}" is not a split. Expected a name ("train"), a part of it ("train[:100]", "train[10%:20%]"), or several joined by "+".`,
        { code: 'TASKSET_SPLIT' },
      );
    }
    return {
      split: canonicalSplit(split),
      unit: percent ? 'percent' : 'rows',
      from: from === undefined ? undefined : Number(from),
      to: to === undefined ? undefined : Number(to),
    };
  });
}

/** Returns the rows of one part. Percentages are rounded to the nearest row. */
export function slicePart<T>(rows: readonly T[], { from = 0, to, unit }: SplitPart): readonly T[] {
  const toRow = (value: number): number =>
    unit === 'percent' ? Math.round((value / 100) * rows.length) : value;
  return rows.slice(toRow(from), to === undefined ? undefined : toRow(to));
}
