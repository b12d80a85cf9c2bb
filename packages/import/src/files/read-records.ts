/** Records of a file: objects of JSON lines, of a JSON list, or one JSON or YAML document. */
import { ConfigError, describeError } from '@trinity-rft/core';
import { parse } from 'yaml';
import { isJson, type Fault, type Json } from '../record/item.js';
import { parseJson } from '../messages/parse-json.js';
import { readLines, type Line } from './read-lines.js';

export interface FileRecord {
  /** Line, or number of the item in a list; from 1. */
  readonly line: number;
  /** Undefined where `fault` says why. */
  readonly record?: Json;
  readonly fault?: Fault;
}

type Layout = 'lines' | 'json' | 'yaml';

/** Characters of a document that is not lines: it is parsed as a whole. */
const longestDocument = 2 ** 28;

/**
 * A `.json` file whose first line is an object of its own has one on each line.
 * @param onBytes called with the bytes that are read from the file
 * @throws ConfigError for a file that cannot be read, and a document that is too large
 */
export async function* readRecords(
  file: string,
  onBytes: (count: number) => void,
): AsyncGenerator<FileRecord> {
  let layout = layoutOf(file);
  const document: string[] = [];
  let length = 0;
  for await (const line of linesOf(file, onBytes)) {
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
        `${file} is one ${layout} document of more than ${longestDocument / 2 ** 20} million characters. Write it as JSON lines, one object per line, which are read in constant memory`,
      );
  }
  if (document.length > 0)
    yield* inDocument(document.join('\n'), layout === 'yaml' ? 'yaml' : 'json');
}

/** Undefined: its first line decides. */
function layoutOf(file: string): Layout | undefined {
  const name = file.replace(/\.gz$/i, '');
  if (/\.(?:jsonl|ndjson)$/i.test(name)) return 'lines';
  return /\.ya?ml$/i.test(name) ? 'yaml' : undefined;
}

async function* linesOf(file: string, onBytes: (count: number) => void): AsyncGenerator<Line> {
  try {
    yield* readLines(file, onBytes);
  } catch (cause) {
    throw unreadable(`${file} cannot be read: ${describeError(cause)}`, cause);
  }
}

function recordOf({ number: line, text, problem }: Line): FileRecord {
  if (text === undefined) return { line, fault: { reason: problem ?? 'it cannot be read' } };
  return asRecord(line, () => parseJson(text), 'the line is not JSON');
}

function* inDocument(text: string, layout: 'json' | 'yaml'): Generator<FileRecord> {
  const whole = { json: parseJson, yaml: parse }[layout];
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
