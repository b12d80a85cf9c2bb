/**
 * Reads `metrics.jsonl`. One pass finds the lines of the file. The values of a metric are read when
 * they are first requested; later requests only read appended lines. Memory use thus depends on the
 * requested metrics only.
 */
import { open, stat } from 'node:fs/promises';
import { createQueue } from '../shared/queue.js';
import { within } from '../shared/within.js';
import { readLines } from './blocks.js';
import { createColumn, type Column } from './columns.js';
import { addToIndex, type LineIndex, type RoleLines } from './line-index.js';
import { addToNames, type SeenMetrics } from './names.js';
import { addValue, needleOf, type Wanted } from './scan.js';

export interface MetricFile {
  /**
   * Reads lines that were added. A file that became shorter or was replaced is read from the start:
   * a resumed run truncates it.
   */
  catchUp(): Promise<void>;
  readonly roles: ReadonlyMap<string, RoleLines>;
  /**
   * Returns the values of the named metrics, one per line of the role; NaN where a line has no
   * finite value.
   */
  columns(role: string, names: readonly string[]): Promise<readonly Column[]>;
  /**
   * Returns the metrics that occur in the file, with their latest values. Reading a large file
   * takes seconds. If the read is not complete after `withinMs`, returns the metrics found so far.
   * `share` is the share of the file that was read.
   */
  seen(withinMs: number): Promise<{ readonly metrics: SeenMetrics; readonly share: number }>;
}

/** Maximum number of cached columns; the least recently requested are evicted. */
const mostColumns = 64;

interface Content {
  /** Position up to which lines are in the index. */
  end: number;
  /** Inode and creation time: a new file often gets the inode of a deleted one. */
  identity: string;
  readonly index: LineIndex;
  readonly columns: Map<string, Column>;
  readonly seen: SeenMetrics;
  /** Position up to which metrics were collected. */
  seenEnd: number;
}

const emptyContent = (identity: string): Content => ({
  end: 0,
  identity,
  index: new Map(),
  columns: new Map(),
  seen: new Map(),
  seenEnd: 0,
});

export function createMetricFile(file: string): MetricFile {
  let content = emptyContent('');
  const oneAtATime = createQueue();
  let looking: Promise<void> | undefined;
  let seeing: Promise<void> | undefined;

  const look = async (): Promise<void> => {
    const found = await stat(file).catch(() => undefined);
    if (found === undefined) return;
    const identity = `${found.ino} ${found.birthtimeMs}`;
    if (found.size < content.end || identity !== content.identity) content = emptyContent(identity);
    if (found.size > content.end) await indexLines(file, content, found.size);
  };
  const catchUp = (): Promise<void> =>
    (looking ??= oneAtATime(look).finally(() => (looking = undefined)));
  const columns: MetricFile['columns'] = (role, names) =>
    oneAtATime(async () => {
      const lines = content.index.get(role);
      if (!lines) return names.map(createColumn);
      const wanted = names.map((name): Wanted => {
        const key = `${role} ${name}`;
        const values = content.columns.get(key) ?? createColumn();
        content.columns.delete(key);
        content.columns.set(key, values);
        return { needle: needleOf(name), values };
      });
      await fill(file, lines, content.end, wanted);
      for (const key of [...content.columns.keys()].slice(0, -mostColumns))
        content.columns.delete(key);
      return wanted.map(({ values }) => values);
    });
  const seen: MetricFile['seen'] = async (withinMs) => {
    seeing ??= see(file, content).finally(() => (seeing = undefined));
    await within(withinMs, seeing);
    const { end, seenEnd } = content;
    return { metrics: content.seen, share: end === 0 ? 1 : seenEnd / end };
  };
  return {
    catchUp,
    get roles() {
      return content.index;
    },
    columns,
    seen,
  };
}

async function indexLines(file: string, content: Content, size: number): Promise<void> {
  await using handle = await open(file, 'r');
  let blockAt = content.end;
  await readLines(
    handle,
    [content.end, size],
    (block, begin, end) => addToIndex(content.index, block, [begin, end], blockAt + begin),
    (end) => {
      content.end = end;
      blockAt = end;
    },
  );
}

/**
 * Reads the missing values of columns. Each column is filled from its own end up to the last line.
 */
async function fill(
  file: string,
  { begins }: RoleLines,
  end: number,
  wanted: readonly Wanted[],
): Promise<void> {
  const from = Math.min(...wanted.map(({ values }) => values.length()));
  if (from >= begins.length()) return;
  await using handle = await open(file, 'r');
  let line = from;
  let blockAt = begins.at(from);
  const take = (block: Buffer, begin: number, lineEnd: number): void => {
    // Skips lines of other roles.
    if (blockAt + begin !== begins.at(line)) return;
    for (const each of wanted)
      if (each.values.length() === line) addValue(each, block, begin, lineEnd);
    line++;
  };
  await readLines(handle, [blockAt, end], take, (at) => (blockAt = at));
}

async function see(file: string, content: Content): Promise<void> {
  if (content.seenEnd >= content.end) return;
  await using handle = await open(file, 'r');
  await readLines(
    handle,
    [content.seenEnd, content.end],
    (block, begin, end) => addToNames(content.seen, block.toString('utf8', begin, end)),
    (end) => (content.seenEnd = end),
  );
}
