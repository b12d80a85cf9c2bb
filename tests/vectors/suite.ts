// Types of a suite, which makes test cases from one key of a vector file.

import type { Matrix } from './inputs.ts';

export type Numbers = Readonly<Record<string, number>>;

/** Content of a vector file that all suites need. */
export interface VectorFile {
  readonly inputs?: Readonly<Record<string, InputVectors>>;
  readonly [key: string]: unknown;
}

/** Matrices [row][response token], padded to one length. */
export type InputVectors = Readonly<Record<string, Matrix>>;

export interface VectorCase {
  readonly id: string;
  /**
   * Runs the case.
   * @throws any error if a stated value does not hold
   */
  readonly run: () => void | Promise<void>;
}

/** Makes the cases of a key; `value` is the value of the key in the file. */
export type Suite = (value: never, file: VectorFile) => readonly VectorCase[];

/**
 * Input of that name.
 * @throws RangeError when the file has no such input
 */
export function inputOf({ inputs }: VectorFile, name: string): InputVectors {
  const input = inputs?.[name];
  if (input) return input;
  throw new RangeError(
    `there is no input "${name}" in the file; it has ${Object.keys(inputs ?? {}).join(', ') || 'none'}`,
  );
}
