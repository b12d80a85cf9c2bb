/** Columns that grow: a number for each of many rows, at a few bytes each. */

interface NumberArray {
  [index: number]: number;
}

export interface Column {
  push(value: number): void;
  set(index: number, value: number): void;
  at(index: number): number;
}

/**
 * Number of rows in a block, as a power of two: columns grow by blocks, without copying existing
 * ones.
 */
const blockBits = 14;
const blockSize = 1 << blockBits;

function column(create: (length: number) => NumberArray): Column {
  const blocks: NumberArray[] = [];
  let length = 0;
  const set = (index: number, value: number): void => {
    const block = blocks[index >> blockBits];
    if (block) block[index & (blockSize - 1)] = value;
  };
  return {
    push: (value) => {
      if (length === blocks.length * blockSize) blocks.push(create(blockSize));
      set(length++, value);
    },
    set,
    at: (index) => blocks[index >> blockBits]?.[index & (blockSize - 1)] ?? Number.NaN,
  };
}

export const integers = (): Column => column((length) => new Int32Array(length));
export const doubles = (): Column => column((length) => new Float64Array(length));
export const floats = (): Column => column((length) => new Float32Array(length));
/** Numbers from 0 to 65,535; larger ones are stored as 65,535. */
export function smallIntegers(): Column {
  const inner = column((length) => new Uint16Array(length));
  return { ...inner, push: (value) => inner.push(Math.min(value, 65_535)) };
}

/** Repeated texts, each stored once. */
export interface TextColumn {
  push(text: string | undefined): void;
  at(index: number): string | undefined;
  /** Code of the text of each row; 0 for no text. */
  readonly codes: Column;
  /** Undefined if no row has the text. */
  codeOf(text: string): number | undefined;
}

export function textColumn(): TextColumn {
  const texts: (string | undefined)[] = [undefined];
  const known = new Map<string, number>();
  const codes = integers();
  const codeFor = (text: string): number => {
    const code = known.get(text) ?? texts.push(text) - 1;
    known.set(text, code);
    return code;
  };
  return {
    codes,
    push: (text) => codes.push(text === undefined ? 0 : codeFor(text)),
    at: (index) => texts[codes.at(index)],
    codeOf: (text) => known.get(text),
  };
}
