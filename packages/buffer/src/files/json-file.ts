/**
 * Reads rows from a JSON file, plain or gzipped: one object per line, or an array of objects.
 * Integers that JavaScript cannot represent exactly become strings, as in rows of Parquet and SQL.
 */
import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type RawTask, TaskError } from '@trinity-rft/core';
import { parseJsonExactly } from '@trinity-rft/core/support';
import { findJsonLoss, findJsonMistake, type JsonMistake } from './json-mistake.js';
import { notAnObject, assertNoBadRows, type BadRow } from './malformed.js';

/**
 * Reads the rows of a file, in file order. A file that starts with `[` is read as one array, unless
 * its extension is `.jsonl` or `.ndjson`.
 * @throws TaskError that states the number of malformed rows and the positions of the first few
 */
export async function readJsonFile(
  path: string,
  signal?: AbortSignal,
): Promise<readonly RawTask[]> {
  const hasLines = /\.(?:jsonl|ndjson)(?:\.gz)?$/i.test(path);
  const array: Line[] = [];
  const rows: RawTask[] = [];
  const bad: BadRow[] = [];
  for await (const line of readLines(path, signal)) {
    if (line.valid && line.text.trim() === '') continue;
    const first = array.length + rows.length + bad.length === 0;
    if (array.length > 0 || (first && !hasLines && line.text.trimStart().startsWith('[')))
      array.push(line);
    else addRow(line, rows, bad);
  }
  if (array.length > 0) return parseArray(path, array);
  assertNoBadRows(path, bad, rows.length);
  return rows;
}

interface Line {
  /** Line number, from 1. */
  readonly number: number;
  /** Line without the line end and byte order mark. */
  readonly text: string;
  /** False if the bytes are not UTF-8. */
  readonly valid: boolean;
}

function addRow(line: Line, rows: RawTask[], bad: BadRow[]): void {
  const parsed = parseLine(line);
  if ('row' in parsed) rows.push(parsed.row);
  else bad.push(parsed);
}

function parseLine({ number, text, valid }: Line): { row: RawTask } | BadRow {
  if (!valid) return { place: `:${number}`, problem: 'expected UTF-8 text, found other bytes' };
  const placed = ({ offset, problem }: JsonMistake): BadRow => ({
    place: `:${number}:${offset + 1}`,
    problem,
  });
  try {
    const row = parseJsonExactly(text);
    const problem = notAnObject(row);
    if (problem) return { place: `:${number}:1`, problem };
    const loss = findJsonLoss(text);
    return loss ? placed(loss) : { row: row as RawTask };
  } catch {
    return placed(mistakeIn(text));
  }
}

function parseArray(path: string, lines: readonly Line[]): readonly RawTask[] {
  const undecoded = lines.filter((line) => !line.valid).map((line) => parseLine(line) as BadRow);
  assertNoBadRows(path, undecoded, 0);
  const items = parseWhole(path, lines);
  const bad = items.flatMap((item, i) => {
    const problem = notAnObject(item);
    return problem ? [{ place: `, item ${i + 1}`, problem }] : [];
  });
  assertNoBadRows(path, bad, items.length - bad.length);
  return items as readonly RawTask[];
}

function parseWhole(path: string, lines: readonly Line[]): readonly unknown[] {
  const text = lines.map((line) => line.text).join('\n');
  const malformed = ({ offset, problem }: JsonMistake, cause?: unknown): TaskError => {
    const before = text.slice(0, offset).split('\n');
    const column = (before.at(-1)?.length ?? 0) + 1;
    const place = `${lines[before.length - 1]?.number ?? 1}:${column}`;
    return new TaskError(
      `${path}:${place}: ${problem}. Expected a JSON array of objects, or one JSON object per line.`,
      { code: 'TASKSET_MALFORMED', details: { path }, cause },
    );
  };
  let items: readonly unknown[];
  try {
    items = parseJsonExactly(text) as readonly unknown[];
  } catch (cause) {
    throw malformed(mistakeIn(text), cause);
  }
  const loss = findJsonLoss(text);
  if (loss) throw malformed(loss);
  return items;
}

const mistakeIn = (text: string) =>
  findJsonMistake(text) ?? { offset: 0, problem: 'expected JSON' };

/**
 * Reads a file line by line. Splits only at line feeds, because JSON strings may contain other
 * characters that Unicode defines as line ends.
 */
async function* readLines(path: string, signal: AbortSignal | undefined): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let pending: Buffer[] = [];
  const takeLine = (end: Buffer): Line => {
    const bytes = Buffer.concat([...pending, end]);
    pending = [];
    number++;
    try {
      return { number, text: decoder.decode(bytes).replace(/\r$/, ''), valid: true };
    } catch {
      return { number, text: '', valid: false };
    }
  };
  for await (const chunk of openBytes(path, signal) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield takeLine(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
  }
  if (pending.length > 0) yield takeLine(Buffer.alloc(0));
}

function openBytes(path: string, signal: AbortSignal | undefined): Readable {
  const file = createReadStream(path, { signal });
  // The callback is required but has nothing to do. The reader of the unzipped stream receives
  // errors.
  return path.toLowerCase().endsWith('.gz')
    ? pipeline(file, createGunzip(), () => undefined)
    : file;
}
