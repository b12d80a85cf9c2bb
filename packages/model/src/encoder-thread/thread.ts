/** A thread that encodes long texts, while the main thread continues with other calls. */
import type { TokenizerFiles } from '@trinity-rft/chat';
import { lazyThread } from '../lazy-thread/lazy-thread.js';

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
  const thread = lazyThread<EncoderMethods, TokenizerFiles>({
    entry: () => new URL('./worker.js', import.meta.url),
    name: 'trinity-encoder',
    data: files,
    code: 'ENCODER_THREAD',
    message: (cause) =>
      `The thread that encodes long prompts has ended (${cause}). Send the request again, or a shorter prompt. Its file, worker.js, must be next to the code of @trinity-rft/model.`,
  });
  return {
    encode: (text) => thread.link().call('encode', text),
    close: () => thread.close(),
  };
}
