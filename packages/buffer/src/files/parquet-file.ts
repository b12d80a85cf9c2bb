import { type RawTask, TaskError } from '@trinity-rft/core';
import { parseJsonExactly } from '@trinity-rft/core/support';
import type { SchemaTree } from 'hyparquet';
import { findJsonLoss, findJsonMistake } from './json-mistake.js';
import { assertNoBadRows, type BadRow } from './malformed.js';
import { plainValue } from './plain-value.js';

/**
 * Reads the rows of a Parquet file with any compression, in file order, as plain JSON.
 * @throws TaskError when the file is not Parquet or is damaged, or if a value of a JSON column is
 * not JSON or would lose data when parsed
 */
export async function readParquetFile(path: string): Promise<readonly RawTask[]> {
  const { rows, scales } = await readColumns(path);
  const bad = rows.flatMap(badColumns);
  assertNoBadRows(path, bad, rows.length - bad.length, 'Fix the JSON of the column.');
  return rows.map((row) => plainValue(withDecimals(row, scales)) as RawTask);
}

type Row = Readonly<Record<string, unknown>>;

async function readColumns(path: string): Promise<{ rows: readonly Row[]; scales: Scales }> {
  // Loaded on first use, because most training runs read JSON.
  const [{ asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema }, codecs] =
    await Promise.all([import('hyparquet'), import('hyparquet-compressors')]);
  try {
    const file = await asyncBufferFromFile(path);
    const metadata = await parquetMetadataAsync(file);
    const scales = takeScales(parquetSchema(metadata));
    // `utf8: false` leaves columns that are not declared as text as bytes, instead of decoding
    // them.
    const rows = await parquetReadObjects({
      file,
      metadata,
      compressors: {
        ...codecs.compressors,
        LZ4: orEmpty(codecs.decompressLz4),
        LZ4_RAW: orEmpty(codecs.decompressLz4Raw),
      },
      utf8: false,
      parsers: { jsonFromBytes },
    });
    return { rows, scales };
  } catch (cause) {
    throw new TaskError(
      `${path} cannot be read as Parquet: ${(cause as Error).message}. Expected a complete Parquet file; fetch or write it again.`,
      { code: 'TASKSET_MALFORMED', details: { path }, cause },
    );
  }
}

type Decompress = (input: Uint8Array, outputLength: number) => Uint8Array;

/** Returns a decompressor that also reads a column without a value, which the LZ4 ones do not. */
const orEmpty =
  (decompress: Decompress): Decompress =>
  (input, outputLength) =>
    outputLength === 0 ? new Uint8Array() : decompress(input, outputLength);

/** Takes the place of a string in a JSON column that is not JSON or would lose data when parsed. */
class BadJson {
  readonly problem: string;

  constructor(problem: string) {
    this.problem = problem;
  }
}

function jsonFromBytes(bytes: Uint8Array | undefined): unknown {
  if (!bytes) return bytes;
  const text = new TextDecoder().decode(bytes);
  try {
    const value = parseJsonExactly(text);
    const loss = findJsonLoss(text);
    return loss ? new BadJson(loss.problem) : value;
  } catch {
    return new BadJson(findJsonMistake(text)?.problem ?? 'expected JSON');
  }
}

/** Returns the first column of a row that contains bad JSON, as a list of at most one item. */
function badColumns(row: Row, index: number): readonly BadRow[] {
  for (const [column, value] of Object.entries(row)) {
    const bad = badJsonIn(value);
    if (bad)
      return [
        { place: `, row ${index + 1}, column ${JSON.stringify(column)}`, problem: bad.problem },
      ];
  }
  return [];
}

function badJsonIn(value: unknown): BadJson | undefined {
  if (value instanceof BadJson) return value;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return undefined;
  for (const inner of Object.values(value)) {
    const bad = badJsonIn(inner);
    if (bad) return bad;
  }
  return undefined;
}

/**
 * Scale (number of decimal places) of the decimals in a value. A number applies to a decimal or a
 * list of decimals, and a function returns the scale for each field of an object. Undefined if the
 * value contains no decimals.
 */
type Scales = number | ((field: string) => Scales) | undefined;

/**
 * Returns the scales of the decimals in a column. Changes the schema so that these columns are read
 * as plain integers and bytes, because the library would round decimals to doubles.
 */
function takeScales({ element, children }: SchemaTree): Scales {
  const [first] = children;
  if (!first) return takeScale(element);
  if (children.length === 1 && element.converted_type === 'LIST' && first.children.length < 2)
    return takeScales(first.children[0] ?? first);
  if (children.length === 1 && element.converted_type === 'MAP') {
    const value = first.children.find((child) => child.element.name === 'value');
    const scales = value && takeScales(value);
    return scales === undefined ? undefined : () => scales;
  }
  const fields = new Map(children.map((child) => [child.element.name, takeScales(child)]));
  const hasDecimals = [...fields.values()].some((scales) => scales !== undefined);
  return hasDecimals ? (field) => fields.get(field) : undefined;
}

function takeScale(element: SchemaTree['element']): number | undefined {
  const { converted_type: converted, logical_type: logical, scale = 0 } = element;
  if (converted !== 'DECIMAL' && logical?.type !== 'DECIMAL') return undefined;
  delete element.converted_type;
  delete element.logical_type;
  return logical?.type === 'DECIMAL' ? logical.scale : scale;
}

function withDecimals(value: unknown, scales: Scales): unknown {
  if (scales === undefined || value === undefined || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withDecimals(item, scales));
  if (typeof scales === 'number') return decimal(value as number | bigint | Uint8Array, scales);
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [field, withDecimals(inner, scales(field))]),
  );
}

/** Converts an unscaled decimal to the value that a JSON file would contain. */
function decimal(unscaled: number | bigint | Uint8Array, scale: number): unknown {
  const whole = typeof unscaled === 'object' ? integerOf(unscaled) : BigInt(unscaled);
  const sign = whole < 0n ? '-' : '';
  const digits = (whole < 0n ? -whole : whole).toString().padStart(scale + 1, '0');
  const point = digits.length - scale;
  const fraction = scale === 0 ? '' : `.${digits.slice(point)}`;
  return parseJsonExactly(`${sign}${digits.slice(0, point)}${fraction}`);
}

/** Converts bytes to an integer. The bytes are in big-endian two's complement. */
const integerOf = (bytes: Uint8Array): bigint =>
  BigInt.asIntN(8 * bytes.length, BigInt(`0x0${Buffer.from(bytes).toString('hex')}`));
