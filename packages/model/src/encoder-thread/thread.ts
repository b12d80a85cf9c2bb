/**
 * Tokenizes long texts in a separate thread, so that the main thread can continue to serve other
 * calls.
 */
import type { TokenizerFiles } from '@trinity-rft/chat';
import { lazyThread } from '../lazy-thread/lazy-thread.js';

/** Methods that the main thread calls on the encoder thread. */
export interface EncoderMethods {
  encode(text: string): Int32Array;
}

export interface EncoderThread {
  /**
   * Returns the token ids of a text. Texts are processed one after another.
   * @throws ModelError as `Tokenizer.encode` does, EngineError if the thread died
   */
  encode(text: string): Promise<Int32Array>;
  close(): Promise<void>;
}

/**
 * Returns an object that tokenizes texts in the encoder thread. The thread is started by the first
 * text, and restarted by the next text if it has died.
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
