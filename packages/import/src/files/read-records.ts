/**
 * Reads records from files in any layout: JSON lines, a JSON list, CSV, or a single JSON or YAML
 * document.
 */
import { ConfigError, describeError } from '@trinity-rft/core';
import { parse } from 'yaml';
import { isJson, type Fault, type Json } from '../record/item.js';
import { parseJson } from '../messages/parse-json.js';
import { csvReader, rowEnd, type CsvReader } from './csv.js';
import { scanList } from './json-list.js';
import { firstCharacter, lineEnd, readPieces, type FindEnd, type Piece } from './read-pieces.js';

export interface FileRecord {
  /** Number of the line, list item or CSV row, starting at 1. */
  readonly line: number;
  /** The record, or undefined if `fault` is set. */
  readonly record?: Json;
  readonly fault?: Fault;
}

type Layout = 'lines' | 'csv' | 'list' | 'json' | 'yaml';
type OnBytes = (count: number) => void;

/** Maximum length of a document that is parsed as a whole, in characters. */
const longestDocument = 2 ** 28;

/**
 * Reads the records of a file. A `.json` file whose first line is a complete object is read as JSON
 * lines.
 * @param onBytes called with the number of bytes read from the file
 * @throws ConfigError if the file cannot be read, or is a document that is too large
 */
export async function* readRecords(file: string, onBytes: OnBytes): AsyncGenerator<FileRecord> {
  let layout = layoutOf(file) ?? (await listOrNot(file));
  if (layout === 'csv') return yield* inCsv(file, onBytes);
  if (layout === 'list') return yield* inList(file, onBytes);
  const document: string[] = [];
  let length = 0;
  for await (const line of piecesOf(file, { what: 'line', findEnd: lineEnd }, onBytes)) {
    if (document.length === 0 && line.text?.trim() === '') continue;
    layout ??= recordOf(line).record ? 'lines' : 'json';
    if (layout === 'lines') {
      yield recordOf(line);
      continue;
    }
    const { text, problem, number } = line;
    if (text === undefined)
      throw unreadable(`${file}:${number} cannot be read: ${problem}. Write it as JSON lines`);
    document.push(text);
    length += text.length;
    if (length > longestDocument)
      throw unreadable(
        `${file} is one ${layout} document of more than ${Math.round(longestDocument / 1e6)} million characters. Write it as JSON lines, one object per line, which are read in constant memory`,
      );
  }
  if (document.length > 0)
    yield* inDocument(document.join('\n'), layout === 'yaml' ? 'yaml' : 'json');
}

/**
 * Returns the layout that the file's name implies, or undefined if only the content can show it.
 */
function layoutOf(file: string): Layout | undefined {
  const name = file.replace(/\.gz$/i, '');
  if (/\.(?:jsonl|ndjson)$/i.test(name)) return 'lines';
  if (/\.csv$/i.test(name)) return 'csv';
  return /\.ya?ml$/i.test(name) ? 'yaml' : undefined;
}

const listOrNot = (file: string): Promise<'list' | undefined> =>
  firstCharacter(file).then(
    (first) => (first === '[' ? 'list' : undefined),
    (cause: unknown) => {
      throw unreadable(`${file} cannot be read: ${describeError(cause)}`, cause);
    },
  );

async function* piecesOf(
  file: string,
  pieces: { readonly what: string; readonly findEnd: FindEnd },
  onBytes: OnBytes,
): AsyncGenerator<Piece> {
  try {
    yield* readPieces(file, pieces, onBytes);
  } catch (cause) {
    throw unreadable(`${file} cannot be read: ${describeError(cause)}`, cause);
  }
}

/**
 * Reads the items of a JSON list. If the list has a syntax error, the items before it are still
 * yielded.
 */
async function* inList(file: string, onBytes: OnBytes): AsyncGenerator<FileRecord> {
  const { findEnd, isClosed } = scanList();
  const notJson = (line: number, detail: string): FileRecord => ({
    line,
    fault: { reason: 'the file is not JSON', detail },
  });
  // The first piece is the white space before the list.
  let [line, isOver] = [-1, false];
  for await (const piece of piecesOf(file, { what: 'item', findEnd }, onBytes)) {
    line++;
    const isBlank = piece.text?.trim() === '';
    if (isOver && !isBlank) return yield notJson(line, 'there is more after the list');
    const isEmptyList = line === 1 && isBlank && isClosed();
    if (line > 0 && !isOver && !isEmptyList)
      yield recordOf({ ...piece, number: line }, 'the item is not JSON');
    isOver = isClosed();
  }
  if (!isOver) yield notJson(line, 'the list is cut off');
}

/** Reads CSV. The first row names the columns; cells are strings, and empty cells are left out. */
async function* inCsv(file: string, onBytes: OnBytes): AsyncGenerator<FileRecord> {
  let rows: CsvReader | undefined;
  const findEnd = rowEnd(() => rows?.separator);
  for await (const piece of piecesOf(file, { what: 'row', findEnd }, onBytes)) {
    const { number: line, text, problem } = piece;
    if (text?.trim() === '') continue;
    if (text === undefined) yield { line, fault: { reason: problem ?? 'it cannot be read' } };
    else if (rows) yield asRecord(line, () => rows?.read(text), 'the row does not fit the header');
    else rows = rowReader(file, text);
  }
}

/**
 * Returns the reader of the rows below a header.
 * @throws ConfigError if the header cannot be read
 */
function rowReader(file: string, header: string): CsvReader {
  try {
    return csvReader(header);
  } catch (cause) {
    throw unreadable(`${file} has no header of CSV: ${describeError(cause)}`, cause);
  }
}

function recordOf(
  { number: line, text, problem }: Piece,
  reason = 'the line is not JSON',
): FileRecord {
  if (text === undefined) return { line, fault: { reason: problem ?? 'it cannot be read' } };
  return asRecord(line, () => parseJson(text), reason);
}

function* inDocument(text: string, layout: 'json' | 'yaml'): Generator<FileRecord> {
  const whole = { json: parseJson, yaml: parseYaml }[layout];
  let value: unknown;
  try {
    value = whole(text);
  } catch (cause) {
    const detail = describeError(cause).split('\n')[0];
    yield { line: 1, fault: { reason: `the file is not ${layout.toUpperCase()}`, detail } };
    return;
  }
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  for (const [i, item] of items.entries()) yield asRecord(i + 1, () => item, '');
}

/** Parses YAML, with merge keys (`<<`). Integers that a number cannot represent exactly become strings, as in JSON. */
const parseYaml = (text: string): unknown =>
  parse(text, withNumbers, { intAsBigInt: true, merge: true }) as unknown;

function withNumbers(_key: unknown, value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}

function asRecord(line: number, read: () => unknown, reason: string): FileRecord {
  let value: unknown;
  try {
    value = read();
  } catch (cause) {
    return { line, fault: { reason, detail: describeError(cause) } };
  }
  if (!isJson(value)) return { line, fault: { reason: 'the record is not an object' } };
  return { line, record: value };
}

const unreadable = (problem: string, cause?: unknown): ConfigError =>
  new ConfigError(`${problem}.`, { code: 'IMPORT_FILE', cause });
