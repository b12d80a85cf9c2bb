/** A thread that parses large request bodies, while the main thread goes on with other calls. */
import { describeError } from '@trinity-rft/core';
import { EngineError, reviveError, type ErrorRecord } from '@trinity-rft/core/internal';
import { startThread, type Link, type ThreadExit } from '@trinity-rft/worker-link';
import type { BodyText, ParsedBody } from '../protocols/shared/request/body.js';

/** The methods of the thread. */
export interface BodyMethods {
  parse(body: BodyText): ParsedBody;
}

export interface BodyThread {
  /** Takes the bytes away. @throws ModelError as `parseBody`, EngineError */
  parse(body: BodyText): Promise<ParsedBody>;
  close(): Promise<void>;
}

/** The thread starts with the first body, and again after it has died. */
export function createBodyThread(): BodyThread {
  let link: Link<BodyMethods> | undefined;
  return {
    parse: (body) => {
      if (!link || link.closed) link = start();
      return link.call('parse', body, { transfer: [body.bytes.buffer] });
    },
    close: async () => {
      await link?.close(ended({ exitCode: 0, cause: undefined }));
    },
  };
}

const start = (): Link<BodyMethods> =>
  startThread<BodyMethods, undefined>(new URL('./body-worker.js', import.meta.url), {
    name: 'trinity-bodies',
    data: undefined,
    keepAlive: 'while-waiting',
    toError: (record: ErrorRecord) => reviveError(record, EngineError),
    onExit: ended,
  });

function ended({ exitCode, cause }: ThreadExit): EngineError {
  const why = cause === undefined ? `exit code ${exitCode}` : describeError(cause);
  return new EngineError(
    `The thread that reads large requests has ended (${why}). Send the request again, or a smaller one. Its file, body-worker.js, must be next to the code of @trinity-rft/model.`,
    { code: 'BODY_THREAD', cause },
  );
}
