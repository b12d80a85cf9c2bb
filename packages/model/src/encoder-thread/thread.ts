/** Encodes long texts in a thread, so that the main thread can serve other calls. */
import type { TokenizerFiles } from '@trinity-rft/chat';
import { lazyThread } from '../lazy-thread/lazy-thread.js';

/** Methods that the main thread calls on the encoder thread. */
export interface EncoderMethods {
  encode(text: string): Int32Array;
}

export interface EncoderThread {
  /**
   * Encodes texts one after another.
   * @throws ModelError as `Tokenizer.encode` does, EngineError if the thread died
   */
  encode(text: string): Promise<Int32Array>;
  close(): Promise<void>;
}

/**
 * Creates the interface to the encoder thread. The first text starts the thread. If the thread has
 * died, the next text restarts it.
 */
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
