/** The main thread's side of the worker: sends calls, hands out answers, and tells every caller when the worker is gone. */
import { Worker } from 'node:worker_threads';

import { EngineError, type TrinityError } from '@trinity-rft/core';

import { reviveError } from './error-record.js';
import { buffersOf, type Calls, type FromWorker, type Method, type Reply, type WorkerOptions } from './protocol.js';

interface Pending {
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

export interface CallHandle<T> {
  readonly result: Promise<T>;
  /** Tells the worker that nobody waits any more, and answers with `error` at once. */
  cancel(error: TrinityError): void;
}

/** Answers handed out per turn of the event loop, so that a burst of them never blocks it. */
const answersPerTurn = 32;

export class WorkerClient {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  readonly #arrived: Reply[] = [];
  #nextId = 1;
  #crash: unknown;
  /** Why no call can be made any more. */
  #ended: TrinityError | undefined;

  constructor(options: WorkerOptions) {
    const buffers = options.tokenBytes === undefined ? [] : buffersOf(options.tokenBytes);
    // Beside this file in the sources, and beside the bundle in the package.
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), { name: 'trinity-engine', workerData: options, transferList: buffers });
    this.#worker.on('message', (replies: FromWorker) => this.#receive(replies));
    this.#worker.on('messageerror', (cause) => this.#end(new EngineError('A message from the engine\'s worker thread could not be read.', { code: 'ENGINE_WORKER_DIED', cause })));
    this.#worker.on('error', (error) => (this.#crash = error));
    this.#worker.on('exit', (exitCode) => this.#end(workerDied(exitCode, this.#crash)));
  }

  /** Arrays in `args` are handed over: they must belong to this call alone. */
  call<M extends Method>(method: M, args: Calls[M]['args']): CallHandle<Calls[M]['result']> {
    const { promise, resolve, reject } = Promise.withResolvers<Calls[M]['result']>();
    const id = this.#nextId++;
    if (this.#ended !== undefined) reject(this.#ended);
    else {
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject });
      this.#worker.postMessage({ id, method, args }, buffersOf(args));
    }
    const cancel = (error: TrinityError): void => {
      if (!this.#pending.delete(id)) return;
      if (this.#ended === undefined) this.#worker.postMessage({ cancel: id });
      reject(error);
    };
    return { result: promise, cancel };
  }

  /** Answers every open call with `pending`, later ones with `later`, and ends the thread. */
  async close(pending: TrinityError, later: TrinityError): Promise<void> {
    this.#end(pending);
    this.#ended = later;
    await this.#worker.terminate();
  }

  #receive(replies: FromWorker): void {
    const idle = this.#arrived.length === 0;
    this.#arrived.push(...replies);
    if (idle) this.#handOut();
  }

  #handOut(): void {
    for (const reply of this.#arrived.splice(0, answersPerTurn)) this.#settle(reply);
    if (this.#arrived.length > 0) setImmediate(() => this.#handOut());
  }

  #settle(reply: Reply): void {
    const waiting = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if ('error' in reply) waiting?.reject(reviveError(reply.error));
    else waiting?.resolve(reply.result as never);
  }

  #end(error: TrinityError): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    for (const waiting of this.#pending.values()) waiting.reject(error);
    this.#pending.clear();
  }
}

function workerDied(exitCode: number, cause: unknown): EngineError {
  return new EngineError(
    `The engine's worker thread ended with exit code ${exitCode}; every open call fails with it. Open the engine again; if memory ran out, lower the memory budget or the batch.`,
    { code: 'ENGINE_WORKER_DIED', details: { exitCode }, ...(cause !== undefined && { cause }) },
  );
}
