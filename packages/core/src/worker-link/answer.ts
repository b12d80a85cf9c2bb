/** The answering side of a link. It executes the called methods and sends the replies. */
import type { MessagePort, Transferable } from 'node:worker_threads';
import type { CallerMessages, CallMessage, MethodTable, Reply, ResultOf } from './protocol.js';

/**
 * Context of a called method: reports when the call is cancelled, and sends progress values to the
 * caller.
 */
export interface CallContext {
  /**
   * Calls `listener` once if the caller stops waiting. A later listener replaces an earlier one.
   */
  onCancel(listener: () => void): void;
  /** Sends a value to the caller's `onProgress` before the result. */
  progress(value: unknown): void;
}

/** Implementations of the methods of a table. */
export type Handlers<M extends MethodTable<keyof M>> = {
  readonly [K in keyof M]: (
    input: Parameters<M[K]>[0],
    context: CallContext,
  ) => ResultOf<M, K> | Promise<ResultOf<M, K>>;
};

export interface AnswerOptions {
  /** Converts an error to plain data, which the caller's `LinkOptions.toError` converts back. */
  readonly toRecord: (error: unknown) => unknown;
  /**
   * Returns the buffers and ports in a result that are transferred instead of copied.
   * @default no function: copies everything
   */
  readonly transfer?: (result: unknown) => readonly Transferable[];
}

interface OpenCall extends CallContext {
  cancel(): void;
}

/**
 * Answers the calls that arrive at `port`, and starts them in order. `open` is called once,
 * immediately. Calls wait until `open` has resolved. If `open` fails, every call rejects with the
 * reason.
 *
 * Results that are ready when all calls of a message have been handled are sent together. Results
 * that become ready later are sent at the end of the iteration of the event loop in which they
 * become ready.
 */
export function answerCalls<M extends MethodTable<keyof M>>(
  port: MessagePort,
  open: () => Handlers<M> | Promise<Handlers<M>>,
  options: AnswerOptions,
): void {
  const handlers = openHandlers(open);
  const openCalls = new Map<number, OpenCall>();
  const outbox = createOutbox(port, options);
  const reply = (message: Reply): void => {
    openCalls.delete(message.id);
    outbox.add(message);
  };
  const answer = (call: CallMessage): void => {
    const context = createContext((progress) => outbox.add({ id: call.id, progress }));
    openCalls.set(call.id, context);
    runCall(handlers, call, context, {
      succeeded: (result) => reply({ id: call.id, result }),
      failed: (error) => reply({ id: call.id, error: options.toRecord(error) }),
    });
  };
  port.on('message', (messages: CallerMessages) => {
    for (const message of messages) {
      if ('cancel' in message) openCalls.get(message.cancel)?.cancel();
      else answer(message);
    }
    outbox.flush();
  });
}

interface Outcome {
  readonly succeeded: (result: unknown) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Calls a method and reports its outcome, immediately if the method is synchronous and the handlers
 * are open.
 */
function runCall<M extends MethodTable<keyof M>>(
  handlers: Handlers<M> | Promise<Handlers<M>>,
  { method, input }: CallMessage,
  context: CallContext,
  { succeeded, failed }: Outcome,
): void {
  const run = (table: Handlers<M>): unknown => table[method as keyof M](input as never, context);
  try {
    const result = handlers instanceof Promise ? handlers.then(run) : run(handlers);
    if (result instanceof Promise) result.then(succeeded, failed);
    else succeeded(result);
  } catch (error) {
    failed(error);
  }
}

function openHandlers<M extends MethodTable<keyof M>>(
  open: () => Handlers<M> | Promise<Handlers<M>>,
): Handlers<M> | Promise<Handlers<M>> {
  try {
    const opened = open();
    // Every call is answered with the failure. An unhandled rejection would crash the thread.
    if (opened instanceof Promise) opened.catch(() => undefined);
    return opened;
  } catch (error) {
    const failed = Promise.reject<Handlers<M>>(error as Error);
    failed.catch(() => undefined);
    return failed;
  }
}

function createContext(progress: OpenCall['progress']): OpenCall {
  let cancelled = false;
  let listener: (() => void) | undefined;
  return {
    progress,
    onCancel: (added) => {
      if (cancelled) added();
      else listener = added;
    },
    cancel: () => {
      cancelled = true;
      listener?.();
    },
  };
}

function createOutbox(port: MessagePort, { toRecord, transfer }: AnswerOptions) {
  let replies: Reply[] = [];
  const post = (ready: readonly Reply[]): void =>
    port.postMessage(
      ready,
      ready.flatMap((reply) => ('result' in reply ? (transfer?.(reply.result) ?? []) : [])),
    );
  const flush = (): void => {
    const ready = replies;
    replies = [];
    if (ready.length === 0) return;
    try {
      post(ready);
    } catch {
      for (const reply of ready) postAlone(reply);
    }
  };
  const postAlone = (reply: Reply): void => {
    try {
      post([reply]);
    } catch (error) {
      // The result cannot be cloned.
      post([{ id: reply.id, error: toRecord(error) }]);
    }
  };
  const add = (reply: Reply): void => {
    if (replies.push(reply) === 1) setImmediate(flush);
  };
  return { add, flush };
}
