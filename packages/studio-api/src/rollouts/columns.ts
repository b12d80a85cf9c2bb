/** Columns that grow: a number for each of very many rows, a few bytes each. */

interface NumberArray {
  readonly length: number;
  [index: number]: number;
  set(from: NumberArray): void;
}

export interface Column {
  readonly values: NumberArray;
  push(value: number): void;
  set(index: number, value: number): void;
  at(index: number): number;
}

const firstCapacity = 1024;

export function column(create: (length: number) => NumberArray): Column {
  let values = create(firstCapacity);
  let length = 0;
  const grow = (): void => {
    const larger = create(values.length * 2);
    larger.set(values);
    values = larger;
  };
  return {
    get values() {
      return values;
    },
    push: (value) => {
      if (length === values.length) grow();
      values[length++] = value;
    },
    set: (index, value) => {
      values[index] = value;
    },
    at: (index) => values[index] ?? Number.NaN,
  };
}

export const integers = (): Column => column((length) => new Int32Array(length));
export const doubles = (): Column => column((length) => new Float64Array(length));
export const floats = (): Column => column((length) => new Float32Array(length));

/** Texts that repeat, each stored once. */
export interface TextColumn {
  push(text: string | undefined): void;
  at(index: number): string | undefined;
  /** 0 = no text. */
  readonly codes: Column;
  /** Undefined where no row has it. */
  codeOf(text: string): number | undefined;
  textOf(code: number): string | undefined;
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
    textOf: (code) => texts[code],
  };
}
