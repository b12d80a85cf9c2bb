/** A thread that encodes long texts, while the main thread goes on with other calls. */
import type { TokenizerFiles } from '@trinity-rft/chat';
import { describeError } from '@trinity-rft/core';
import { EngineError, reviveError, type ErrorRecord } from '@trinity-rft/core/internal';
import { startThread, type Link, type ThreadExit } from '@trinity-rft/worker-link';

/** The methods of the thread. */
export interface EncoderMethods {
  encode(text: string): Int32Array;
}

export interface EncoderThread {
  /** One text after the other. @throws ModelError as `Tokenizer.encode`, EngineError */
  encode(text: string): Promise<Int32Array>;
  close(): Promise<void>;
}

/** The thread starts with the first text, and again after it has died. */
export function createEncoderThread(files: TokenizerFiles): EncoderThread {
  let link: Link<EncoderMethods> | undefined;
  return {
    encode: (text) => {
      if (!link || link.closed) link = start(files);
      return link.call('encode', text);
    },
    close: async () => {
      await link?.close(ended({ exitCode: 0, cause: undefined }));
    },
  };
}

const start = (files: TokenizerFiles): Link<EncoderMethods> =>
  startThread<EncoderMethods, TokenizerFiles>(new URL('./worker.js', import.meta.url), {
    name: 'trinity-encoder',
    data: files,
    keepAlive: 'while-waiting',
    toError: (record: ErrorRecord) => reviveError(record, EngineError),
    onExit: ended,
  });

function ended({ exitCode, cause }: ThreadExit): EngineError {
  const why = cause === undefined ? `exit code ${exitCode}` : describeError(cause);
  return new EngineError(
    `The thread that encodes long prompts has ended (${why}). Send the request again, or a shorter prompt. Its file, worker.js, must be next to the code of @trinity-rft/model.`,
    { code: 'ENCODER_THREAD', cause },
  );
}
