/** The turn store: writes calls into a journal, and leaves what waits for the disk to a thread. */
import { encodeExperience } from '@trinity-rft/core';
import type { CallArguments, ResultOf } from '@trinity-rft/worker-link';
import { openJournal, type Journal } from './journal.js';
import type { EncodedCall, TurnStoreOptions } from './sqlite.js';
import { TurnThread, type TurnMethods } from './thread.js';
import type { TurnStore } from './turn-store.js';

/** How long calls are collected for one transaction, in ms. */
const collectMs = 10;

/**
 * Opens or makes the store. One store may have the file open at a time; the operating system's lock
 * on it ends with the process. An open store keeps no process alive that waits for nothing of it.
 * @throws BufferError when another store has the file open, it is damaged or foreign, or the thread
 * does not start
 */
export async function openTurnStore(options: TurnStoreOptions): Promise<TurnStore> {
  const { thread, starts } = await TurnThread.open(options);
  const journal = await openCaughtUp(thread, options.path);
  let waiting: EncodedCall[] = [];
  let timer: NodeJS.Timeout | undefined;
  const handOver = (): void => {
    clearTimeout(timer);
    const calls = waiting;
    waiting = [];
    if (calls.length > 0)
      thread
        .call('record', calls, { transfer: buffersOf(calls) })
        .then(() => journal.settled(calls.length), thread.fail);
  };
  /** Sees the calls that were recorded before. */
  const ask = <M extends keyof TurnMethods>(
    method: M,
    ...args: CallArguments<TurnMethods[M]>
  ): Promise<ResultOf<TurnMethods, M>> => {
    handOver();
    return thread.call(method, ...args);
  };
  const close = async (): Promise<void> => {
    handOver();
    try {
      await thread.close();
    } finally {
      journal.close();
    }
  };
  let closed: Promise<void> | undefined;
  return {
    starts,
    gone: thread.gone,
    record: async ({ msgId, session, experiences }) => {
      thread.assertOpen();
      const call = {
        msgId,
        session,
        experiences: experiences.map((experience) => apart(encodeExperience(experience))),
      };
      journal.append(call);
      if (waiting.push(call) === 1) timer = setTimeout(handOver, collectMs);
    },
    sessionOf: (msgId) => ask('sessionOf', msgId),
    reward: (feedback) => ask('reward', feedback),
    begin: (step) => ask('begin', step),
    begun: () => ask('begun'),
    settle: (step) => ask('settle', step),
    lastStep: () => ask('lastStep'),
    counts: () => ask('counts'),
    close: () => (closed ??= close()),
  };
}

/**
 * Once the file is this store's alone: what the journal has of an earlier process goes into the
 * database.
 */
async function openCaughtUp(thread: TurnThread, path: string): Promise<Journal> {
  try {
    const journal = openJournal(path);
    if (journal.left.length > 0) await thread.call('record', journal.left);
    journal.clear();
    return journal;
  } catch (error) {
    await thread.close();
    throw error;
  }
}

const buffersOf = (calls: readonly EncodedCall[]): readonly ArrayBuffer[] =>
  calls.flatMap(({ experiences }) => experiences.map(({ buffer }) => buffer));

/** Bytes whose buffer can be handed over, for it holds nothing else. */
function apart(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(bytes);
}
