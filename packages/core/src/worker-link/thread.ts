/** Starts a worker thread with a link to it. */
import { MessageChannel, Worker, type MessagePort, type ResourceLimits } from 'node:worker_threads';
import { inheritedFlags } from '../inherited-flags.js';
import { Link, type LinkOptions } from './link.js';
import type { MethodTable } from './protocol.js';

export interface ThreadOptions<Data> extends Omit<LinkOptions, 'worker' | 'terminate'> {
  /** Name that debuggers and crash reports show. */
  readonly name: string;
  /** Value that the thread receives as `data` of its {@link ThreadTask}. */
  readonly data: Data;
  /** Memory limits. If the thread exceeds them, only the thread is ended, not the process. */
  readonly resourceLimits?: ResourceLimits;
  /**
   * Function that is awaited before the thread is terminated by `close`, and also after the thread
   * has ended by itself.
   * @default no function: the thread is terminated at once
   */
  readonly beforeEnd?: () => Promise<void>;
  /** Called once when the thread has ended, for any reason. */
  readonly onEnd?: () => void;
  /**
   * Called once when the thread ends without having been closed. Pending and later calls reject
   * with the returned error.
   */
  readonly onExit: (exit: ThreadExit) => Error;
}

export interface ThreadExit {
  /** Exit code of the thread; undefined if the thread could not be started. */
  readonly exitCode: number | undefined;
  /** Error that the thread threw; undefined if it threw none. */
  readonly cause: unknown;
}

/** `workerData` of a thread. The thread must pass `port` to `answerCalls`. */
export interface ThreadTask<Data> {
  readonly port: MessagePort;
  readonly data: Data;
}

/**
 * Starts a module in a thread, with a link to it. The link can be used at once, because calls wait
 * until the module listens.
 * @param entry returns the URL of the module's file. Must be written as `() => new
 * URL('./worker.js', import.meta.url)`, because bundlers search for this expression
 * @throws the error that `onExit` returns, if the thread cannot be started
 */
export function startThread<M extends MethodTable<keyof M>, Data>(
  entry: () => URL,
  options: ThreadOptions<Data>,
): Link<M> {
  // A separate channel instead of the worker's own, because `Link.drain` needs a MessagePort.
  const { port1, port2 } = new MessageChannel();
  const worker = startWorker(entry, options, port2);
  const terminate = async (): Promise<void> => {
    await options.beforeEnd?.();
    await worker.terminate();
  };
  const link = new Link<M>(port1, { ...options, worker, terminate });
  let crash: unknown;
  port1.on('messageerror', (error) => {
    crash = error;
    void worker.terminate();
  });
  worker.on('error', (error) => (crash = error));
  worker.on('exit', (exitCode) => {
    options.onEnd?.();
    if (link.closed) return;
    // Settles the calls whose replies arrived before the thread ended.
    link.drain();
    setImmediate(() => {
      if (!link.closed) void link.close(options.onExit({ exitCode, cause: crash }));
    });
  });
  return link;
}

function startWorker<Data>(
  entry: () => URL,
  options: ThreadOptions<Data>,
  port: MessagePort,
): Worker {
  const { name, data, resourceLimits, onExit } = options;
  const workerData: ThreadTask<Data> = { port, data };
  const transferList = [port];
  try {
    const url = placeOf(entry);
    return new Worker(url, { name, workerData, transferList, resourceLimits, ...inheritedFlags() });
  } catch (cause) {
    throw onExit({ exitCode: undefined, cause });
  }
}

function placeOf(entry: () => URL): URL {
  try {
    return entry();
  } catch (cause) {
    throw new Error(
      'import.meta.url is empty, as in a bundle of CommonJS. Leave the @trinity-rft packages out of the bundle: in Next.js by serverExternalPackages, elsewhere as external',
      { cause },
    );
  }
}
