/** Reads the front matter of a dataset's README.md, which assigns files to subsets and splits. */
import { isTree } from '@trinity-rft/core/support';
import { parse } from 'yaml';
import { canonicalSplit } from './splits.js';

/** One entry of `configs:` in the card. */
export interface CardSubset {
  readonly name: string;
  readonly isDefault: boolean;
  /**
   * Folder of the files, relative to the card's folder and with a trailing `/`. Empty for the
   * card's folder itself.
   */
  readonly folder: string;
  /**
   * Glob patterns for each split's files, relative to the card's folder. If the map is empty, the
   * names of the files in `folder` determine the splits.
   */
  readonly splits: ReadonlyMap<string, readonly string[]>;
}

/**
 * Returns the subsets that the card declares. Returns an empty list if the card cannot be parsed;
 * in that case, file names determine the splits.
 */
export function readDatasetCard(readme: string): readonly CardSubset[] {
  const frontMatter = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---/.exec(readme)?.[1];
  const configs = frontMatter === undefined ? undefined : parseConfigs(frontMatter);
  return (Array.isArray(configs) ? configs : []).filter(isTree).flatMap((config) => {
    const folder = folderOf(config['data_dir']);
    const splits = readDataFiles(config['data_files'], folder);
    if (splits.size === 0 && folder === '') return [];
    return [
      {
        name: textOr(config['config_name'], 'default'),
        isDefault: config['default'] === true,
        folder,
        splits,
      },
    ];
  });
}

function folderOf(value: unknown): string {
  const path = textOr(value, '')
    .replace(/^(?:\.?\/)+/, '')
    .replace(/\/+$/, '');
  return path === '' || path === '.' ? '' : `${path}/`;
}

function parseConfigs(frontMatter: string): unknown {
  try {
    return (parse(frontMatter) as { configs?: unknown } | null)?.configs;
  } catch {
    return undefined;
  }
}

/**
 * Reads `data_files`: one pattern or a list of patterns (for the train split), or a list of `{
 * split, path }`.
 */
function readDataFiles(value: unknown, folder: string): ReadonlyMap<string, readonly string[]> {
  const splits = new Map<string, string[]>();
  for (const entry of value === undefined ? [] : [value].flat()) {
    const { split, path } =
      typeof entry === 'object' && entry !== null
        ? (entry as Record<string, unknown>)
        : { split: 'train', path: entry };
    const patterns = [path].flat().filter((pattern) => typeof pattern === 'string');
    const key = canonicalSplit(textOr(split, 'train'));
    splits.set(key, [
      ...(splits.get(key) ?? []),
      ...patterns.map((pattern) => folder + pattern.replace(/^\.\//, '')),
    ]);
  }
  return splits;
}

const textOr = (value: unknown, fallback: string): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : fallback;

/**
 * Returns a regular expression for the paths that match a glob. The glob may contain `*`, `**`, `?`,
 * `[...]` and `{a,b}`. If the glob matches a folder, it matches all files in that folder, as dataset
 * cards require.
 * @throws SyntaxError if the glob has an invalid range such as `[z-a]`
 */
export function globPattern(glob: string): RegExp {
  return new RegExp(`^(?:${globSource(glob)})(?:/.*)?$`);
}

function globSource(pattern: string): string {
  return pattern.replaceAll(/\{[^}]*\}|\[[^\]]+\]|\*\*\/?|[*?.+^$()|\\{}[\]]/g, (token) => {
    if (token.length > 1 && token.startsWith('{'))
      return `(?:${token.slice(1, -1).split(',').map(globSource).join('|')})`;
    if (token.length > 1 && token.startsWith('[')) return token;
    return wildcards[token] ?? `\\${token}`;
  });
}

const wildcards: Readonly<Record<string, string>> = {
  '**/': '(?:.*/)?',
  '**': '.*',
  '*': '[^/]*',
  '?': '[^/]',
};
