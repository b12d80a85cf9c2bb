/** Errors for GGUF files. */
import { CheckpointError } from '@trinity-rft/core';

/** Error for a file that is damaged, or is not GGUF. */
export const broken = (path: string, why: string, cause?: unknown): CheckpointError =>
  new CheckpointError(
    `${path} is not a complete GGUF file: ${why}. Copy or download it again, or give the folder of a Hugging Face model.`,
    { code: 'GGUF_BROKEN', cause },
  );

/** Error for a valid file with content that is not supported. */
export const unsupported = (path: string, key: string, what: string): CheckpointError =>
  new CheckpointError(`${path}: ${what}`, { code: 'GGUF_UNSUPPORTED', details: { key } });

/** A value that has no counterpart in llama.cpp. */
export interface Refused {
  /** File of the model that contains the key, such as `config.json`. */
  readonly file: string;
  readonly key: string;
  readonly value: unknown;
  /** Text after "expected" in the error message. */
  readonly expected: string;
  /** Advice for the user, as a full sentence. */
  readonly fix: string;
}

/**
 * Error for a model that cannot be written as GGUF, because llama.cpp would refuse it or compute
 * something else.
 */
export function refused({ file, key, value, expected, fix }: Refused): CheckpointError {
  const found = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
  return new CheckpointError(`${file}: ${key} ${found}; expected ${expected}. ${fix}`, {
    code: 'GGUF_UNSUPPORTED',
    details: { file, key },
  });
}
