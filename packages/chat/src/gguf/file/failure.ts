/** Errors for GGUF files. */
import { CheckpointError } from '@trinity-rft/core';

/** Creates the error for a file that is damaged, or is not GGUF. */
export const broken = (path: string, why: string, cause?: unknown): CheckpointError =>
  new CheckpointError(
    `${path} is not a complete GGUF file: ${why}. Copy or download it again, or give the folder of a Hugging Face model.`,
    { code: 'GGUF_BROKEN', cause },
  );

/** Creates the error for a valid GGUF file with content that is not supported. */
export const unsupported = (path: string, key: string, what: string): CheckpointError =>
  new CheckpointError(`${path}: ${what}`, { code: 'GGUF_UNSUPPORTED', details: { key } });

/** Setting or tensor of a model that GGUF or llama.cpp does not support. */
export interface Refused {
  /** Name of the model's file that contains the key, such as `config.json`. */
  readonly file: string;
  readonly key: string;
  readonly value: unknown;
  /** Text after "expected" in the error message. */
  readonly expected: string;
  /** Advice for the user, as a full sentence. */
  readonly fix: string;
}

/**
 * Creates the error for a model that cannot be written as GGUF, because llama.cpp would reject the
 * file or compute something else.
 */
export function refused({ file, key, value, expected, fix }: Refused): CheckpointError {
  const found = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
  return new CheckpointError(`${file}: ${key} ${found}; expected ${expected}. ${fix}`, {
    code: 'GGUF_UNSUPPORTED',
    details: { file, key },
  });
}
