/**
 * Parses large request bodies in a separate thread, so that the main thread can continue to serve
 * other calls.
 */
import { lazyThread } from '../lazy-thread/lazy-thread.js';
import type { BodyText, ParsedBody } from '../protocols/shared/request/body.js';

/** Methods that the main thread calls on the parser thread. */
export interface BodyMethods {
  parse(body: BodyText): ParsedBody;
}

interface BodyThread {
  /**
   * Parses a body. Transfers the body's buffer to the thread, so that the caller can no longer use
   * it.
   * @throws ModelError as `parseBody` does, EngineError if the thread died
   */
  parse(body: BodyText): Promise<ParsedBody>;
  close(): Promise<void>;
}

/**
 * Returns an object that parses bodies in the parser thread. The thread is started by the first
 * body, and restarted by the next body if it has died.
 */
export function createBodyThread(): BodyThread {
  const thread = lazyThread<BodyMethods, undefined>({
    entry: () => new URL('./body-worker.js', import.meta.url),
    name: 'trinity-bodies',
    data: undefined,
    code: 'BODY_THREAD',
    message: (cause) =>
      `The thread that reads large requests has ended (${cause}). Send the request again, or a smaller one. Its file, body-worker.js, must be next to the code of @trinity-rft/model.`,
  });
  return {
    parse: (body) => thread.link().call('parse', body, { transfer: [body.bytes.buffer] }),
    close: () => thread.close(),
  };
}
