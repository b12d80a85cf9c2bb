/**
 * The calling side of a link between threads. It sends calls over a port, and settles the promise
 * of a call when its reply arrives.
 */
import {
  receiveMessageOnPort,
  type MessagePort,
  type Transferable,
  type Worker,
} from 'node:worker_threads';
import type { CallerMessages, MethodTable, Reply, ResultOf } from './protocol.js';

export interface LinkOptions {
  /** Converts an error that the other side sent as a record back to an Error. */
  readonly toError: (record: never) => Error;
  /**
   * When the link keeps the process alive. `always`: as long as the link is open.
   * `while-waiting`: only while a call is pending.
   * @default "always"
   */
  readonly keepAlive?: 'always' | 'while-waiting';
  /**
   * True to send the calls of one iteration of the event loop together at its end, instead of one
   * by one.
   * @default false
   */
  readonly batch?: boolean;
  /**
   * Thread at the other end. Keeps the process alive whenever the port does.
   * @default no thread
   */
  readonly worker?: Pick<Worker, 'ref' | 'unref'>;
  /**
   * Terminates the other side when the link is closed. @default no function: only the port is
   * closed
   */
  readonly terminate?: () => Promise<unknown>;
}

export interface CallOptions {
  /**
   * Signal of the call: when it aborts, the call rejects with the signal's reason and the other
   * side is asked to stop. Use `AbortSignal.timeout` for a deadline.
   */
  readonly signal?: AbortSignal;
  /**
   * Buffers and ports in the argument that are transferred instead of copied.
   * @default no transfers
   */
  readonly transfer?: readonly Transferable[];
  /** Called with values that the method reports before its result. */
  readonly onProgress?: (value: never) => void;
}

/** Arguments of a call: optional if the method takes none. */
export type CallArguments<F extends (input: never) => unknown> =
  Parameters<F> extends []
    ? [input?: undefined, options?: CallOptions]
    : [input: Parameters<F>[0], options?: CallOptions];

interface Outgoing {
  readonly message: CallerMessages[number];
  readonly transfer: readonly Transferable[];
}

interface Pending {
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  readonly onProgress: CallOptions['onProgress'];
}

/**
 * Maximum number of replies that are settled per iteration of the event loop, so that a burst of
 * replies does not block the loop.
 */
const repliesPerTurn = 32;

/**
 * The calling end of a connection to a thread. It calls the thread's methods and waits for their
 * results.
 * @typeParam M the methods of the other side
 */
export class Link<M extends MethodTable<keyof M>> {
  readonly #port: MessagePort;
  readonly #options: LinkOptions;
  readonly #pending = new Map<number, Pending>();
  readonly #arrived: Reply[] = [];
  #batch: Outgoing[] = [];
  #lastId = 0;
  #closed: Error | undefined;

  constructor(port: MessagePort, options: LinkOptions) {
    this.#port = port;
    this.#options = options;
    port.on('message', (replies: readonly Reply[]) => this.#receive(replies));
    this.#hold(false);
  }

  /**
   * Calls a method of the other side. Calls are handled in the order in which they are made.
   * Rejects when the link is closed.
   */
  call<K extends keyof M & string>(
    method: K,
    ...[input, options = {}]: CallArguments<M[K]>
  ): Promise<ResultOf<M, K>> {
    const { signal, transfer = [], onProgress } = options;
    if (this.#closed) return Promise.reject(this.#closed);
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const { promise, resolve, reject } = Promise.withResolvers<ResultOf<M, K>>();
    const id = ++this.#lastId;
    this.#add(id, { resolve, reject, onProgress });
    if (signal) this.#cancelOnAbort(id, signal, promise);
    this.#send({ id, method, input }, transfer);
    return promise;
  }

  /**
   * Settles the calls whose replies have arrived, without waiting for the event loop. Intended for
   * callers that measure the time of the other side and may have blocked the event loop themselves.
   */
  drain(): void {
    for (
      let next = receiveMessageOnPort(this.#port);
      next !== undefined;
      next = receiveMessageOnPort(this.#port)
    )
      this.#arrived.push(...(next.message as readonly Reply[]));
    for (const reply of this.#arrived.splice(0)) this.#settle(reply);
  }

  /** Reason why no more calls can be made; undefined while the link is open. */
  get closed(): Error | undefined {
    return this.#closed;
  }

  /**
   * Closes the link: rejects pending calls with `pending` and later calls with `later`. Resolves
   * when `LinkOptions.terminate`, if set, has resolved.
   */
  async close(pending: Error, later = pending): Promise<void> {
    this.#closed = later;
    for (const { reject } of this.#pending.values()) reject(pending);
    this.#pending.clear();
    this.#port.close();
    await this.#options.terminate?.();
  }

  #add(id: number, call: Pending): void {
    this.#pending.set(id, call);
    if (this.#pending.size === 1) this.#hold(true);
  }

  #take(id: number): Pending | undefined {
    const call = this.#pending.get(id);
    // `close` has removed all calls, so a closed link keeps the process alive until its thread has
    // ended.
    if (this.#pending.delete(id) && this.#pending.size === 0) this.#hold(false);
    return call;
  }

  /**
   * Refs or unrefs the worker as well as the port. The port of a dying thread closes first. If only
   * the port kept the process alive, the process would exit before the thread's exit is reported.
   */
  #hold(isWaiting: boolean): void {
    if (this.#options.keepAlive !== 'while-waiting') return;
    for (const handle of [this.#port, this.#options.worker])
      if (isWaiting) handle?.ref();
      else handle?.unref();
  }

  #cancelOnAbort(id: number, signal: AbortSignal, settled: Promise<unknown>): void {
    const cancel = (): void => {
      this.#take(id)?.reject(signal.reason);
      this.#send({ cancel: id }, []);
    };
    const stopListening = (): void => signal.removeEventListener('abort', cancel);
    signal.addEventListener('abort', cancel, { once: true });
    settled.then(stopListening, stopListening);
  }

  #send(message: CallerMessages[number], transfer: readonly Transferable[]): void {
    const size = this.#batch.push({ message, transfer });
    if (!this.#options.batch) this.#flush();
    else if (size === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const batch = this.#batch;
    this.#batch = [];
    try {
      this.#post(batch);
    } catch {
      for (const outgoing of batch) this.#postAlone(outgoing);
    }
  }

  #postAlone(outgoing: Outgoing): void {
    try {
      this.#post([outgoing]);
    } catch (error) {
      // The argument cannot be cloned.
      if ('id' in outgoing.message) this.#take(outgoing.message.id)?.reject(error);
    }
  }

  #post(batch: readonly Outgoing[]): void {
    const messages: CallerMessages = batch.map(({ message }) => message);
    this.#port.postMessage(
      messages,
      batch.flatMap(({ transfer }) => transfer),
    );
  }

  #receive(replies: readonly Reply[]): void {
    const idle = this.#arrived.length === 0;
    this.#arrived.push(...replies);
    if (idle) this.#settleArrived();
  }

  #settleArrived(): void {
    for (const reply of this.#arrived.splice(0, repliesPerTurn)) this.#settle(reply);
    if (this.#arrived.length > 0) setImmediate(() => this.#settleArrived());
  }

  #settle(reply: Reply): void {
    if ('progress' in reply) {
      this.#pending.get(reply.id)?.onProgress?.(reply.progress as never);
      return;
    }
    const call = this.#take(reply.id);
    if ('error' in reply) call?.reject(this.#options.toError(reply.error as never));
    else call?.resolve(reply.result as never);
  }
}
