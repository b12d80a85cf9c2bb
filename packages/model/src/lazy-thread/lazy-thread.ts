/** A thread that is started by the first call to it. If it has died, the next call restarts it. */
import { describeError, EngineError } from '@trinity-rft/core';
import { reviveError, type ErrorRecord } from '@trinity-rft/core/store';
import {
  startThread,
  type Link,
  type MethodTable,
  type ThreadExit,
} from '@trinity-rft/core/worker-link';

export interface LazyThreadOptions<Data> {
  /** Returns the URL of the module that runs in the thread. */
  readonly entry: () => URL;
  readonly name: string;
  readonly data: Data;
  /** Error code for calls that were pending when the thread died. */
  readonly code: string;
  /**
   * Returns the error message for calls that were pending when the thread died, given the cause.
   */
  readonly message: (cause: string) => string;
}

export interface LazyThread<Methods extends MethodTable<keyof Methods>> {
  /** Returns the link to the thread. Starts the thread if it is not running. */
  link(): Link<Methods>;
  close(): Promise<void>;
}

export function lazyThread<Methods extends MethodTable<keyof Methods>, Data>({
  entry,
  name,
  data,
  code,
  message,
}: LazyThreadOptions<Data>): LazyThread<Methods> {
  let link: Link<Methods> | undefined;
  const ended = ({ exitCode, cause }: ThreadExit): EngineError => {
    const why = cause === undefined ? `exit code ${exitCode}` : describeError(cause);
    return new EngineError(message(why), { code, cause });
  };
  return {
    link: () => {
      if (!link || link.closed) {
        link = startThread<Methods, Data>(entry, {
          name,
          data,
          keepAlive: 'while-waiting',
          toError: (record: ErrorRecord) => reviveError(record, EngineError),
          onExit: ended,
        });
      }
      return link;
    },
    close: async () => {
      await link?.close(ended({ exitCode: 0, cause: undefined }));
    },
  };
}
