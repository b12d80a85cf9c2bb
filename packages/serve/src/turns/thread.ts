/** The thread of a turn store, as its owner sees it. */
import { Worker } from 'node:worker_threads';
import { BufferError, describeError, reviveError, threadFlags } from '@trinity-rft/core';
import {
  opening,
  type Answer,
  type Answers,
  type Method,
  type Methods,
  type Question,
  type Questions,
} from './protocol.js';
import type { TurnStoreOptions } from './sqlite.js';

interface Pending {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/**
 * It keeps the process alive while it opens, while an answer is awaited and while it closes, and
 * not for longer.
 */
export class TurnThread {
  readonly #path: string;
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  /** Asked in this turn of the event loop, and the buffers that go with it. */
  #questions: Question[] = [];
  #buffers: ArrayBuffer[] = [];
  readonly #gone = new AbortController();
  readonly #exited: Promise<void>;
  #lastId = opening;
  #crash: unknown;
  /** Why nothing can be asked any more. */
  #ended: BufferError | undefined;
  #opened = false;
  #held = true;
  #closed: Promise<void> | undefined;

  private constructor(options: TurnStoreOptions) {
    this.#path = options.path;
    // Beside this file in the sources, and beside the bundle in the package.
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), {
      name: 'trinity-turns',
      workerData: options,
      ...threadFlags(),
    });
    this.#worker.on('message', (answers: Answers) =>
      answers.forEach((answer) => this.#settle(answer)),
    );
    this.#worker.on('error', (error) => (this.#crash = error));
    this.#worker.on('messageerror', (error) => {
      this.#crash = error;
      void this.#worker.terminate();
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', (exitCode) => {
        this.#end(exitCode);
        resolve();
      });
    });
  }

  /**
   * Resolves with the thread and the count of starts.
   * @throws BufferError when it does not start, or the file cannot be opened
   */
  static async open(
    options: TurnStoreOptions,
  ): Promise<{ readonly thread: TurnThread; readonly starts: number }> {
    const thread = start(() => new TurnThread(options));
    try {
      const starts = await thread.#answerTo<number>(opening);
      thread.#opened = true;
      thread.#hold();
      return { thread, starts };
    } catch (error) {
      // What it has locked is free again then.
      await thread.#exited;
      throw error;
    }
  }

  /** Aborts, with the error as its reason, when the thread has ended by itself. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** @throws BufferError when it has ended or was closed */
  assertOpen(): void {
    if (this.#ended) throw this.#ended;
  }

  /** Ends the thread, since something that was promised to be kept could not be stored. */
  readonly giveUp = (cause: unknown): void => {
    if (this.#ended) return;
    this.#ended = notStored(this.#path, cause);
    this.#gone.abort(this.#ended);
    void this.#worker.terminate();
  };

  /**
   * The buffers in `transfer` are handed over. What is asked in one turn of the event loop is
   * posted at its end, together: the answers could not be received before, and a commit for each of
   * them would take time from whatever else is to be done.
   */
  async ask<M extends Method>(
    method: M,
    args: Parameters<Methods[M]>,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<ReturnType<Methods[M]>> {
    this.assertOpen();
    const id = ++this.#lastId;
    this.#buffers.push(...transfer);
    if (this.#questions.push({ id, method, args } as Question) === 1)
      setImmediate(() => this.#post());
    return await this.#answerTo<ReturnType<Methods[M]>>(id);
  }

  /** Resolves when what was asked before is answered, and the thread has ended. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    if (!this.#ended) {
      const answered = this.ask('close', []);
      this.#ended = closed(this.#path);
      await answered;
    }
    await this.#exited;
  }

  #post(): void {
    this.#worker.postMessage(this.#questions satisfies Questions, this.#buffers);
    this.#questions = [];
    this.#buffers = [];
  }

  #answerTo<T>(id: number): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#pending.set(id, { resolve, reject });
    this.#hold();
    return promise;
  }

  #settle(answer: Answer): void {
    const waiting = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    this.#hold();
    if ('error' in answer) waiting?.reject(reviveError(answer.error, BufferError));
    else waiting?.resolve(answer.result as never);
  }

  #hold(): void {
    const hold = this.#pending.size > 0 || !this.#opened || this.#closed !== undefined;
    if (hold === this.#held) return;
    this.#held = hold;
    if (hold) this.#worker.ref();
    else this.#worker.unref();
  }

  #end(exitCode: number): void {
    const error = this.#opened ? died(this.#path, exitCode, this.#crash) : notStarted(this.#crash);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    if (this.#ended) return;
    this.#ended = error;
    this.#gone.abort(error);
  }
}

function start(make: () => TurnThread): TurnThread {
  try {
    return make();
  } catch (cause) {
    throw notStarted(cause);
  }
}

function notStarted(cause: unknown): BufferError {
  const why =
    cause === undefined ? 'ended before it was ready' : `did not start: ${describeError(cause)}`;
  return new BufferError(
    `The thread that stores served calls ${why}. Its file, worker.js, lies beside the code of @trinity-rft/serve: leave the package out of a bundle, or copy the file.`,
    { code: 'SERVE_THREAD', cause },
  );
}

function died(path: string, exitCode: number, cause: unknown): BufferError {
  const why = cause === undefined ? '' : ` (${describeError(cause)})`;
  return new BufferError(
    `The thread that stores served calls in ${path} ended with exit code ${exitCode}${why}. What was answered is kept, in it or in the files beside it; nothing more can be. Start the server again.`,
    { code: 'SERVE_THREAD', details: { exitCode }, cause },
  );
}

function notStored(path: string, cause: unknown): BufferError {
  return new BufferError(
    `Calls that were answered could not be stored in ${path}: ${describeError(cause)}. They are kept in the files beside it. Check the disk and start the server again: it stores them first.`,
    { code: 'SERVE_STORAGE', cause },
  );
}

function closed(path: string): BufferError {
  return new BufferError(
    `The store of served calls ${path} is closed. Expected calls before that. Open it again.`,
    {
      code: 'SERVE_CLOSED',
    },
  );
}
