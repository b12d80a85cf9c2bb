/** The errors of GGUF files. */
import { CheckpointError } from '@trinity-rft/core';

/** The file is damaged, or is not GGUF. */
export const broken = (path: string, why: string, cause?: unknown): CheckpointError =>
  new CheckpointError(
    `${path} is not a complete GGUF file: ${why}. Copy or download it again, or give the folder of a Hugging Face model.`,
    { code: 'GGUF_BROKEN', cause },
  );

/** The file is sound, but holds something that is not read here. */
export const unsupported = (path: string, key: string, what: string): CheckpointError =>
  new CheckpointError(`${path}: ${what}`, { code: 'GGUF_UNSUPPORTED', details: { key } });

/** Place of a value that has no counterpart in llama.cpp. */
export interface Refused {
  /** File of the model that holds the key, such as `config.json`. */
  readonly file: string;
  readonly key: string;
  readonly value: unknown;
  /** Completes "expected ...". */
  readonly expected: string;
  /** A sentence that says what to do. */
  readonly fix: string;
}

/** A model that cannot be written as GGUF: llama.cpp would refuse it, or compute something else. */
export function refused({ file, key, value, expected, fix }: Refused): CheckpointError {
  const found = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
  return new CheckpointError(`${file}: ${key} ${found}; expected ${expected}. ${fix}`, {
    code: 'GGUF_UNSUPPORTED',
    details: { file, key },
  });
}
