/** Starts the worker thread of a turn store, and sends calls to it. */
import { describeError, BufferError } from '@trinity-rft/core';
import { reviveError, type ErrorRecord } from '@trinity-rft/core/store';
import {
  startThread,
  type CallArguments,
  type Link,
  type ResultOf,
  type ThreadExit,
} from '@trinity-rft/core/worker-link';
import type { TurnDatabase, TurnStoreOptions } from './sqlite.js';

/**
 * Methods that can be called in the thread. `open` resolves to the number of times the store has
 * been opened.
 */
export interface TurnMethods extends Omit<TurnDatabase, 'starts'> {
  open(): number;
}

/**
 * Calls the methods of a turn database in a thread. Calls that are made during one iteration of the
 * event loop are sent in one message at its end. This saves time for serving requests, and does not
 * delay results, which could not be received earlier anyway. The thread keeps the process alive
 * while it is opening or closing and while a call is pending.
 */
export class TurnThread {
  readonly #path: string;
  readonly #link: Link<TurnMethods>;
  readonly #failed = new AbortController();
  #opened = false;
  /**
   * Error that calls get after {@link close}. Undefined while the thread is open. Earlier calls
   * still complete.
   */
  #closed: BufferError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(options: TurnStoreOptions) {
    this.#path = options.path;
    // `worker.js` is next to this file in the sources, and next to the bundle in the published
    // package.
    this.#link = startThread<TurnMethods, TurnStoreOptions>(
      () => new URL('./worker.js', import.meta.url),
      {
        name: 'trinity-turns',
        data: options,
        keepAlive: 'while-waiting',
        batch: true,
        toError: (record: ErrorRecord) => reviveError(record, BufferError),
        onExit: (exit) => this.#exited(exit),
      },
    );
  }

  /**
   * Starts a thread and opens the store in it. Resolves to the thread and to the number of times
   * the store has been opened.
   * @throws BufferError if the thread does not start, or the file cannot be opened
   */
  static async open(
    options: TurnStoreOptions,
  ): Promise<{ readonly thread: TurnThread; readonly starts: number }> {
    const thread = new TurnThread(options);
    try {
      const starts = await thread.#link.call('open');
      thread.#opened = true;
      return { thread, starts };
    } catch (error) {
      // Waits until the file is unlocked.
      await thread.#link.close(error as Error);
      throw error;
    }
  }

  /**
   * Signal that aborts if the thread has ended unexpectedly or data could not be stored. The reason
   * of the signal is the error.
   */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /**
   * Checks that the thread accepts calls.
   * @throws BufferError if the thread has ended or was closed
   */
  assertOpen(): void {
    const error = this.#closed ?? this.#link.closed;
    if (error) throw error;
  }

  /**
   * Ends the thread and aborts {@link failed}. Called if data that must be kept could not be
   * stored.
   */
  readonly fail = (cause: unknown): void => {
    if (this.#closed || this.#link.closed) return;
    const error = notStored(this.#path, cause);
    this.#failed.abort(error);
    void this.#link.close(error);
  };

  async call<M extends keyof TurnMethods>(
    method: M,
    ...args: CallArguments<TurnMethods[M]>
  ): Promise<ResultOf<TurnMethods, M>> {
    this.assertOpen();
    return await this.#link.call(method, ...args);
  }

  /**
   * Closes the store and ends the thread. Resolves when earlier calls have completed and the thread
   * has ended.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    if (this.#link.closed) return this.#link.close(this.#link.closed);
    const answered = this.#link.call('close');
    this.#closed = closed(this.#path);
    try {
      await answered;
    } finally {
      await this.#link.close(this.#closed);
    }
  }

  #exited(exit: ThreadExit): BufferError {
    const error = this.#opened ? died(this.#path, exit) : notStarted(exit);
    if (!this.#closed) this.#failed.abort(error);
    return error;
  }
}

function notStarted({ cause }: ThreadExit): BufferError {
  const why =
    cause === undefined ? 'ended before it was ready' : `did not start: ${describeError(cause)}`;
  return new BufferError(
    `The thread that stores served calls ${why}. Its file, worker.js, must be next to the code of @trinity-rft/serve: leave the package out of a bundle, or copy the file.`,
    { code: 'SERVE_THREAD', cause },
  );
}

function died(path: string, { exitCode, cause }: ThreadExit): BufferError {
  const why = cause === undefined ? '' : ` (${describeError(cause)})`;
  return new BufferError(
    `The thread that stores served calls in ${path} ended with exit code ${exitCode}${why}. Answered calls are kept, in the database or in the files next to it; further calls cannot be stored. Start the server again.`,
    { code: 'SERVE_THREAD', details: { exitCode }, cause },
  );
}

function notStored(path: string, cause: unknown): BufferError {
  return new BufferError(
    `Calls that were answered could not be stored in ${path}: ${describeError(cause)}. They are kept in the files next to it. Check the disk and start the server again: it stores them first.`,
    { code: 'SERVE_STORAGE', cause },
  );
}

function closed(path: string): BufferError {
  return new BufferError(
    `The store of served calls ${path} is closed, so it accepts no calls. Open it again.`,
    { code: 'SERVE_CLOSED' },
  );
}
