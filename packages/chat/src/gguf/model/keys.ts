/** Typed access to the metadata of a file. */
import { broken, unsupported } from '../file/failure.js';
import type { GgufFile } from '../file/gguf-file.js';
import type { GgufValue } from '../file/header.js';

export interface Keys {
  /** Adds the prefix of the architecture, such as `llama.`, to a name. */
  readonly own: (name: string) => string;
  number(key: string): number | undefined;
  /** @throws CheckpointError when the key is missing */
  need(key: string): number;
  text(key: string): string | undefined;
  flag(key: string): boolean | undefined;
  texts(key: string): readonly string[] | undefined;
  numbers(key: string): readonly number[] | undefined;
}

/** Metadata of a file, and sizes that all architectures have. */
export interface Described {
  /** Path of the file, for messages. */
  readonly path: string;
  readonly keys: Keys;
  readonly heads: number;
  readonly headDim: number;
  /** Width of the rotated part of a head. */
  readonly rotated: number;
  readonly hiddenSize: number;
}

export function keysOf({ path, metadata }: GgufFile): Keys {
  const architecture = String(metadata.get('general.architecture') ?? '');
  const read = <T extends GgufValue>(
    key: string,
    what: string,
    is: (value: GgufValue) => value is T,
  ): T | undefined => {
    const value = metadata.get(key);
    if (value === undefined || is(value)) return value;
    throw broken(path, `${key} is not ${what}`);
  };
  const number = (key: string) => read(key, 'a number', isNumber);
  return {
    own: (name) => `${architecture}.${name}`,
    number,
    need: (key) => {
      const value = number(key);
      if (value === undefined) throw unsupported(path, key, `the key ${key} is missing.`);
      return value;
    },
    text: (key) => read(key, 'a text', isText),
    flag: (key) => read(key, 'true or false', isFlag),
    texts: (key) => read(key, 'a list of texts', isTexts),
    numbers: (key) => read(key, 'a list of numbers', isNumbers),
  };
}

const isNumber = (value: GgufValue): value is number => typeof value === 'number';
const isText = (value: GgufValue): value is string => typeof value === 'string';
const isFlag = (value: GgufValue): value is boolean => typeof value === 'boolean';
const isTexts = (value: GgufValue): value is readonly string[] =>
  Array.isArray(value) && (value as readonly GgufValue[]).every(isText);
const isNumbers = (value: GgufValue): value is readonly number[] =>
  Array.isArray(value) && (value as readonly GgufValue[]).every(isNumber);
