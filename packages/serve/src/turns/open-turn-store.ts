/**
 * Opens the turn store, which consists of a journal for new calls, and a thread for everything that
 * waits for the disk.
 */
import type { CallArguments, ResultOf } from '@trinity-rft/core/worker-link';
import { openCallRecorder, type CallRecorder } from './call-recorder.js';
import type { TurnStoreOptions } from './sqlite.js';
import { TurnThread, type TurnMethods } from './thread.js';
import type { TurnStore } from './turn-store.js';

export interface OpenTurnStoreOptions extends TurnStoreOptions {
  /**
   * Called with a message if calls of an earlier process may have been lost. @default no callback
   */
  readonly warn?: (message: string) => void;
}

/**
 * Opens the store, and creates it if it does not exist. The file is locked until the store is
 * closed or the process ends. An open store keeps the process alive only while calls are pending.
 * @throws BufferError when another store has the file open, the file is damaged or belongs to
 * another program, or the thread does not start
 */
export async function openTurnStore({
  warn = () => undefined,
  ...options
}: OpenTurnStoreOptions): Promise<TurnStore> {
  const { thread, starts } = await TurnThread.open(options);
  const recorder = await openRecorder(thread, options.path, warn);
  const call = <M extends keyof TurnMethods>(
    method: M,
    ...args: CallArguments<TurnMethods[M]>
  ): Promise<ResultOf<TurnMethods, M>> => {
    recorder.flush();
    return thread.call(method, ...args);
  };
  let closing: Promise<void> | undefined;
  return {
    starts,
    failed: thread.failed,
    record: async (served) => recorder.record(served),
    sessionOf: (msgId) => call('sessionOf', msgId),
    reward: (feedback) => call('reward', feedback),
    startBatch: (step) => call('startBatch', step),
    unfinishedBatch: () => call('unfinishedBatch'),
    finishBatch: (step) => call('finishBatch', step),
    lastStep: () => call('lastStep'),
    counts: () => call('counts'),
    close: () => (closing ??= close(thread, recorder)),
  };
}

async function openRecorder(
  thread: TurnThread,
  path: string,
  warn: (message: string) => void,
): Promise<CallRecorder> {
  try {
    return await openCallRecorder(thread, path, warn);
  } catch (error) {
    await thread.close().catch(() => undefined);
    throw error;
  }
}

async function close(thread: TurnThread, recorder: CallRecorder): Promise<void> {
  recorder.flush();
  try {
    await thread.close();
  } finally {
    recorder.close();
  }
}
