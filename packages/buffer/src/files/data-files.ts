/**
 * Given the file listing of a folder in Hugging Face `datasets` layout, chooses the files that
 * belong to a subset and a split. Does no I/O.
 */
import { groupBy, TaskError } from '@trinity-rft/core';
import { withinMs } from '@trinity-rft/core/support';
import { globPattern, type CardSubset } from './dataset-card.js';
import { canonicalSplit, fileName, shardOf, splitOf } from './splits.js';

export interface DataFilesRequest {
  /** Folder or hub id that the listing is of, used in messages. */
  readonly where: string;
  /** Canonical name of the split, without a slice such as `[:100]`. */
  readonly split: string;
  readonly subsetName: string | undefined;
  /** Subsets that the README declares. */
  readonly card: readonly CardSubset[];
  /** Called with a line of text if files whose names contain the split are not read. */
  readonly report: (line: string) => void;
}

const dataFile = /\.(?:jsonl|ndjson|json|parquet)(?:\.gz)?$/i;
const otherData = /\.(?:arrow|csv|tsv|txt|zip|tar|xml|h5|npz|npy|bz2|zst|xz)$/i;
/** JSON files that describe a data set but contain no rows. */
const notData = new Set([
  'config.json',
  'dataset_info.json',
  'dataset_infos.json',
  'dataset_dict.json',
  'state.json',
  'package.json',
  'tokenizer.json',
]);

/**
 * Returns the files to read, in order. If the README declares subsets, it determines the files.
 * Otherwise each folder is a subset, and file names determine the split.
 * @param paths paths relative to the folder, with `/` as the separator
 * @throws TaskError that lists the available subsets or splits
 */
export function chooseDataFiles(
  paths: readonly string[],
  request: DataFilesRequest,
): readonly string[] {
  const data = paths.filter(isData).toSorted();
  if (data.length === 0) throw noDataError(paths, request);
  const declared = fromCard(data, request);
  const chosen = declared ?? fromNames(inSubset(data, request), request);
  assertOneFormat(chosen, request);
  assertWhole(chosen, request);
  return chosen;
}

function isData(path: string): boolean {
  const parts = path.split('/');
  const isHidden = parts.some((part) => part.startsWith('.') || part.startsWith('__'));
  return !isHidden && dataFile.test(path) && !notData.has(fileName(path));
}

function fromCard(
  data: readonly string[],
  request: DataFilesRequest,
): readonly string[] | undefined {
  const { card, subsetName } = request;
  const fallback =
    card.length === 1
      ? card[0]
      : card.find((subset) => subset.isDefault || subset.name === 'default');
  const subset = subsetName === undefined ? fallback : card.find(({ name }) => name === subsetName);
  if (!subset) {
    if (card.length > 0)
      throw noSubsetError(
        card.map(({ name }) => name),
        request,
      );
    return undefined;
  }
  if (subset.splits.size === 0) return inFolder(data, subset, request);
  const patterns = subset.splits.get(request.split);
  if (!patterns) throw noSplitError([...subset.splits.keys()], request);
  const matching = matchingFiles(data, patterns, request);
  if (matching.length === 0)
    throw filesError(
      request,
      `its README gives ${patterns.join(', ')} as the files of split "${request.split}", but none of them exists`,
    );
  return matching;
}

/** Time limit for a glob, in ms. Many wildcards in one glob take exponential time. */
const longestMatchMs = 1000;

function matchingFiles(
  data: readonly string[],
  globs: readonly string[],
  request: DataFilesRequest,
): readonly string[] {
  // A card may name thousands of files one by one.
  const names = new Set(globs.filter((glob) => !/[*?[{]/.test(glob)));
  const found = new Set(data.filter((path) => withFolders(path).some((each) => names.has(each))));
  for (const glob of new Set(globs)) {
    if (names.has(glob)) continue;
    for (const path of matchesOf(glob, data, request)) found.add(path);
  }
  return data.filter((path) => found.has(path));
}

/** Returns a path and the folders that contain it. */
const withFolders = (path: string): readonly string[] =>
  [...path.matchAll(/\/|$/g)].map(({ index }) => path.slice(0, index));

function matchesOf(
  glob: string,
  data: readonly string[],
  request: DataFilesRequest,
): readonly string[] {
  try {
    const pattern = globPattern(glob);
    const found = withinMs(longestMatchMs, () => data.filter((path) => pattern.test(path)));
    if (found) return found.value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw filesError(
    request,
    `its README gives ${glob} as files of split "${request.split}", which is no glob or has too many wildcards. Correct it`,
  );
}

/** Returns the files of a subset for which the README gives only a folder. */
function inFolder(
  data: readonly string[],
  { name, folder }: CardSubset,
  request: DataFilesRequest,
): readonly string[] {
  const inside = data.filter((path) => path.startsWith(folder));
  if (inside.length === 0)
    throw filesError(
      request,
      `its README gives the folder ${folder} for subset "${name}", which has no data files`,
    );
  return fromNames(inside, request, folder);
}

/**
 * Returns the files of a subset if no README declares subsets. Each folder is then a subset.
 * If the request names no subset, all files are read, as the Python package `datasets` does.
 */
function inSubset(data: readonly string[], request: DataFilesRequest): readonly string[] {
  const { subsetName } = request;
  if (subsetName === undefined || subsetName === 'default') return data;
  const folderOf = (path: string): string =>
    path
      .replace(/^data\//, '')
      .split('/')
      .slice(0, -1)[0] ?? '';
  const chosen = data.filter((path) => folderOf(path) === subsetName);
  if (chosen.length > 0) return chosen;
  throw noSubsetError(
    [...new Set(data.map(folderOf))].filter((name) => name !== ''),
    request,
  );
}

/**
 * Returns the files of the requested split, according to their names. If files are named exactly
 * after the split, returns only these, and reports other files whose names or folders contain the
 * split. Otherwise returns the latter. If no file name contains any split, all files belong to the
 * train split.
 * @param folder folder that does not count as part of the names, with a trailing `/`
 * @default no folder
 */
function fromNames(
  data: readonly string[],
  request: DataFilesRequest,
  folder = '',
): readonly string[] {
  const splitFrom = (path: string): string | undefined => splitOf(path.slice(folder.length));
  const exact = data.filter(
    (path) => canonicalSplit(fileName(path).replace(/\..*$/, '')) === request.split,
  );
  const named = data.filter((path) => splitFrom(path) === request.split);
  const chosen = exact.length > 0 ? exact : named;
  const skipped = named.filter((path) => !chosen.includes(path));
  if (skipped.length > 0)
    request.report(
      `Task set ${request.where}: split "${request.split}" is read from ${chosen.join(', ')}, and not from ${skipped.join(', ')}. To read other files, name them in ${request.card.length > 0 ? '`data_files` of its README.md' : '`configs` of a README.md'}, or give one as the path.`,
    );
  if (chosen.length > 0) return chosen;
  const splits = new Set(data.map(splitFrom).filter((split) => split !== undefined));
  if (splits.size === 0 && request.split === 'train') return data;
  throw noSplitError(splits.size === 0 ? ['train'] : [...splits], request);
}

function assertOneFormat(chosen: readonly string[], request: DataFilesRequest): void {
  const formats = new Set(chosen.map((path) => (/\.parquet/i.test(path) ? 'Parquet' : 'JSON')));
  if (formats.size > 1) {
    throw filesError(
      request,
      `its split "${request.split}" exists as Parquet and as JSON (${chosen.join(', ')}). Give one of the files as the path`,
    );
  }
}

/** Checks that no shard of the chosen files is missing. */
function assertWhole(chosen: readonly string[], request: DataFilesRequest): void {
  const shards = chosen.flatMap((path) => {
    const shard = shardOf(path);
    return shard ? [{ ...shard, folder: path.slice(0, -fileName(path).length) }] : [];
  });
  const sets = groupBy(shards, ({ folder, split, count }) => `${folder}${split}/${count}`);
  for (const set of sets.values()) {
    const { folder, count } = set[0]!;
    const found = new Set(set.map(({ index }) => index));
    const missing = Array.from({ length: count }, (_, i) => i).filter((i) => !found.has(i));
    if (missing.length > 0)
      throw filesError(
        request,
        `files number ${missing.slice(0, 8).join(', ')} of the ${count} of its split "${request.split}" are missing${folder && ` in ${folder}`} (counting from 0)`,
      );
  }
}

function filesError({ where }: DataFilesRequest, what: string): TaskError {
  return new TaskError(`Task set ${where}: ${what}.`, { code: 'TASKSET_FILES' });
}

function noDataError(paths: readonly string[], request: DataFilesRequest): TaskError {
  const others = paths.filter((path) => otherData.test(path));
  const arrow = others.some((path) => path.endsWith('.arrow'));
  const found = others.length > 0 ? `only ${others.slice(0, 4).join(', ')}` : 'none';
  const fix = arrow
    ? '. A folder written by save_to_disk holds Arrow files: write it with to_json or to_parquet instead'
    : '';
  return filesError(
    request,
    `expected files ending in .jsonl, .json or .parquet, found ${found}${fix}`,
  );
}

function noSplitError(splits: readonly string[], request: DataFilesRequest): TaskError {
  return filesError(
    request,
    `it has no split "${request.split}". Expected one of: ${splits.toSorted().join(', ')}`,
  );
}

function noSubsetError(names: readonly string[], request: DataFilesRequest): TaskError {
  const asked =
    request.subsetName === undefined
      ? 'it has several subsets'
      : `it has no subset "${request.subsetName}"`;
  return filesError(
    request,
    names.length === 0
      ? `${asked}, nor any other. Remove subset_name`
      : `${asked}. Set subset_name to one of: ${names.toSorted().join(', ')}`,
  );
}
