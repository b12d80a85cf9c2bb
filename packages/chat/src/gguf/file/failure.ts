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
