/**
 * The caller's side of the protocol: sends calls, hands out answers, and tells every caller when
 * the other side is gone.
 */
import { EngineError, reviveError, type TrinityError } from '@trinity-rft/core';

import {
  buffersOf,
  type Calls,
  type CallTable,
  type FromWorker,
  type Handed,
  type Reply,
  type ToWorker,
} from './engine-calls.js';

/** How messages get to the engine and back. */
export interface EngineLink {
  /** The buffers in `transfer` are handed over. */
  post(message: ToWorker, transfer: Handed[]): void;
  /** Called once, before anything is posted. */
  listen(listener: LinkListener): void;
  /** Ends the other side; resolves when it has ended. */
  close(): Promise<void>;
}

export interface LinkListener {
  readonly received: (replies: FromWorker) => void;
  /** Nothing will be received any more. */
  readonly ended: (error: TrinityError) => void;
}

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

/** @typeParam C the calls that the other side answers */
export class EngineClient<C extends CallTable<keyof C> = Calls> {
  readonly #link: EngineLink;
  readonly #pending = new Map<number, Pending>();
  readonly #arrived: Reply[] = [];
  #nextId = 1;
  /** Why no call can be made any more. */
  #ended: TrinityError | undefined;

  constructor(link: EngineLink) {
    this.#link = link;
    link.listen({
      received: (replies) => this.#receive(replies),
      ended: (error) => this.#end(error),
    });
  }

  /** Arrays in `args` are handed over: they must belong to this call alone. */
  call<M extends keyof C & string>(method: M, args: C[M]['args']): CallHandle<C[M]['result']> {
    const { promise, resolve, reject } = Promise.withResolvers<C[M]['result']>();
    const id = this.#nextId++;
    if (this.#ended !== undefined) reject(this.#ended);
    else {
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject });
      this.#link.post({ id, method, args }, buffersOf(args));
    }
    const cancel = (error: TrinityError): void => {
      if (!this.#pending.delete(id)) return;
      this.#link.post({ cancel: id }, []);
      reject(error);
    };
    return { result: promise, cancel };
  }

  /** Answers every open call with `pending`, later ones with `later`, and ends the other side. */
  async close(pending: TrinityError, later: TrinityError): Promise<void> {
    this.#end(pending);
    this.#ended = later;
    await this.#link.close();
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
    if ('error' in reply) waiting?.reject(reviveError(reply.error, EngineError));
    else waiting?.resolve(reply.result as never);
  }

  #end(error: TrinityError): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    for (const waiting of this.#pending.values()) waiting.reject(error);
    this.#pending.clear();
  }
}
