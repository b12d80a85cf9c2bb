/**
 * Explains metrics with the tables in docs/reference/metrics.md, which is bundled with the page.
 */

/** Contents of metrics.md, defined by vite.config.ts. */
declare const metricsDocument: string;

export interface MetricHelp {
  readonly group: string;
  readonly text: string;
  readonly unit: string;
}

interface Entry extends MetricHelp {
  readonly pattern: RegExp;
}

function readSection(section: string): readonly Entry[] {
  const [title = '', ...lines] = section.split('\n');
  const group = title.replaceAll('`', '');
  const prefix = /`([^`]+\/)`/.exec(title)?.[1] ?? '';
  const [heading, , ...rows] = lines.filter((line) => line.startsWith('|')).map(cellsOf);
  const columns = heading ?? [];
  const at = (row: readonly string[], name: string): string => row[columns.indexOf(name)] ?? '';
  return rows.flatMap((row) =>
    [...(row[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => ({
      group,
      text: at(row, 'What').replaceAll('`', ''),
      unit: at(row, 'Unit'),
      pattern: patternOf(name, prefix),
    })),
  );
}

const cellsOf = (line: string): readonly string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

/**
 * Pattern for a metric name of the document. `{a,b}` lists alternatives, `...` and `*` match any
 * text, and a word in capitals matches one part of a name.
 */
function patternOf(name: string, prefix: string): RegExp {
  const source = name
    .replaceAll(/[@^][kn]\b/g, '')
    .replaceAll(/[.+?^$()[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\{([^}]+)\}/g, (_, names: string) => `(?:${names.replaceAll(',', '|')})`)
    .replaceAll(String.raw`\.\.\.`, '.*')
    .replaceAll('*', '.*')
    .replaceAll(/\b[A-Z]{3,}\b/g, '[^/]+');
  // A name that begins with a placeholder only matches metrics with the prefix of its section.
  const before = /^(?:[A-Z]{3,}\b|\.\.\.)/.test(name) ? prefix : `(?:${prefix})?`;
  return new RegExp(`^${before}${source}(?:/(?:mean|max|min|std))?$`);
}

// Comes after `cellsOf`, which `readSection` calls.
const entries = metricsDocument.split(/^## /m).slice(1).flatMap(readSection);
const noHelp: MetricHelp = { group: '', text: '', unit: '' };

const known = new Map<string, MetricHelp>();

/**
 * Returns the explanation of a metric. If several names in the document match, returns that of the
 * most specific one, which has the longest pattern.
 */
export function helpOf(name: string): MetricHelp {
  const before = known.get(name);
  if (before) return before;
  const help = lookUp(name);
  known.set(name, help);
  return help;
}

function lookUp(name: string): MetricHelp {
  const plain = name.replace(/^bench\//, 'eval/').replace(/[@^]\d+/, '');
  const found = entries
    .filter(({ pattern }) => pattern.test(plain))
    .toSorted((a, b) => b.pattern.source.length - a.pattern.source.length)[0];
  return found ?? noHelp;
}

const order = [...new Set(entries.map(({ group }) => group))];

/**
 * Returns the rank of a group: groups in the order of the document, with undocumented groups
 * second.
 */
export const groupRank = (group: string): number => {
  const rank = order.indexOf(group);
  return rank === -1 ? 0.5 : rank;
};

/** Group of a metric: the section that explains it, else the first part of its name. */
export const groupOf = (name: string): string => helpOf(name).group || (name.split('/')[0] ?? name);
