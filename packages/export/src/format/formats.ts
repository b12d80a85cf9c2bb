/** Export formats, with the data types that each can store, their defaults and their precision. */
import { ConfigError } from '@trinity-rft/core';

export type FormatName = 'gguf' | 'ollama' | 'transformersjs' | 'hf';
export type Precision = 'float32' | 'float16' | 'bfloat16' | 'eight-bit' | 'less';

interface NumberFormat {
  readonly precision: Precision;
  /** Maximum number of bytes per weight. */
  readonly bytes: number;
}

const ggufNumbers = {
  F32: { precision: 'float32', bytes: 4 },
  F16: { precision: 'float16', bytes: 2 },
  BF16: { precision: 'bfloat16', bytes: 2 },
  Q8_0: { precision: 'eight-bit', bytes: 1.1 },
  Q6_K: { precision: 'less', bytes: 1.1 },
  Q4_K_M: { precision: 'less', bytes: 1.1 },
} as const satisfies Readonly<Record<string, NumberFormat>>;

/** Data types of each export format, keyed by the names that `--quantize` accepts. */
export const numberFormats = {
  gguf: ggufNumbers,
  ollama: ggufNumbers,
  transformersjs: {
    fp32: { precision: 'float32', bytes: 4 },
    fp16: { precision: 'float16', bytes: 2 },
    q8: { precision: 'eight-bit', bytes: 1.2 },
  },
  hf: {
    float32: { precision: 'float32', bytes: 4 },
    bfloat16: { precision: 'bfloat16', bytes: 2 },
    float16: { precision: 'float16', bytes: 2 },
  },
} as const satisfies Readonly<Record<FormatName, Readonly<Record<string, NumberFormat>>>>;

/**
 * Number of weights below which a model loses too much quality with fewer than 8 bits per weight.
 */
const small = 1e9;

const defaults: Readonly<Record<FormatName, (weights: number) => string>> = {
  gguf: (weights) => (weights < small ? 'Q8_0' : 'Q4_K_M'),
  ollama: (weights) => (weights < small ? 'Q8_0' : 'Q4_K_M'),
  transformersjs: () => 'q8',
  hf: () => 'bfloat16',
};

export interface ChosenNumbers extends NumberFormat {
  readonly name: string;
}

/**
 * Data type of an adapter that is exported alone, for each export format that supports this. A PEFT
 * folder contains a copy of the adapter.
 */
export const adapterNumbers: Readonly<Partial<Record<FormatName, ChosenNumbers>>> = {
  gguf: { name: 'F32', ...ggufNumbers.F32 },
  hf: { name: 'as stored', ...numberFormats.hf.float32 },
};

/**
 * Returns the data type of the weights in an export.
 * @param asked name in upper or lower case; undefined for the default of a model of this size
 * @throws ConfigError if the format has no data type of that name
 */
export function chooseNumbers(
  format: FormatName,
  asked: string | undefined,
  weights: number,
): ChosenNumbers {
  const wanted = asked ?? defaults[format](weights);
  const found = Object.entries(numberFormats[format]).find(([name]) => isSame(name, wanted));
  if (found) return { name: found[0], ...found[1] };
  throw new ConfigError(
    `--quantize is "${asked}". For --to ${format}, expected one of ${Object.keys(numberFormats[format]).join(', ')}.`,
    { code: 'ARGUMENT_INVALID' },
  );
}

/**
 * Returns true if `wanted` is the name of a data type or its short form, such as `q4_k` for
 * `Q4_K_M`.
 */
const isSame = (name: string, wanted: string): boolean =>
  [name, name.replace(/_M$/, '')].some((each) => each.toLowerCase() === wanted.toLowerCase());

/**
 * Returns the export format called `name`.
 * @throws ConfigError if there is no such format
 */
export function formatNamed(name: string | undefined): FormatName {
  if (name !== undefined && Object.hasOwn(numberFormats, name)) return name as FormatName;
  throw new ConfigError(
    `${name === undefined ? '--to is missing' : `--to is "${name}"`}. Expected one of ${Object.keys(numberFormats).join(', ')}.`,
    { code: 'ARGUMENT_INVALID' },
  );
}
