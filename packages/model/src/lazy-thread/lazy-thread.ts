/** A thread that starts with its first call, and again with the next one after it has died. */
import { describeError, EngineError } from '@trinity-rft/core';
import { reviveError, type ErrorRecord } from '@trinity-rft/core/store';
import {
  startThread,
  type Link,
  type MethodTable,
  type ThreadExit,
} from '@trinity-rft/core/worker-link';

export interface LazyThreadOptions<Data> {
  /** The thread's file. */
  readonly entry: () => URL;
  readonly name: string;
  readonly data: Data;
  /** Code of the error that calls get which the thread did not live to answer. */
  readonly code: string;
  /** The message of that error. */
  readonly message: (cause: string) => string;
}

export interface LazyThread<Methods extends MethodTable<keyof Methods>> {
  /** The running thread, which this may start. */
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
