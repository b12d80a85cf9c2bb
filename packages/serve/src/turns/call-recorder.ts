/**
 * Records each call in the journal immediately, and a few milliseconds later in the database, where
 * many calls share a transaction.
 */
import { encodeExperience } from '@trinity-rft/core/store';
import { openJournal, type Damage, type Journal } from './journal.js';
import type { EncodedCall } from './sqlite.js';
import type { TurnThread } from './thread.js';
import type { ServedCall } from './turn-store.js';

export interface CallRecorder {
  /**
   * Records a call in the journal. Once `record` returns, the call is kept even if the process
   * ends.
   * @throws BufferError if the call cannot be written, or the thread has ended
   */
  record(call: ServedCall): void;
  /**
   * Sends the collected calls to the thread, so that methods called afterwards take them into
   * account.
   */
  flush(): void;
  /** Closes the journal. Must be called after {@link flush} and after the thread has ended. */
  close(): void;
}

/** Time in milliseconds for which calls are collected before they are stored in one transaction. */
const collectMs = 10;

/**
 * Opens a recorder, and stores the calls that an earlier process left in the journal. The caller
 * must already have locked the database.
 */
export async function openCallRecorder(
  thread: TurnThread,
  path: string,
  warn: (message: string) => void,
): Promise<CallRecorder> {
  const journal = await openEmptyJournal(thread, path, warn);
  let collected: EncodedCall[] = [];
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    if (collected.length === 0) return;
    const calls = collected;
    collected = [];
    thread
      .call('record', calls, { transfer: buffersOf(calls) })
      .then(() => journal.stored(calls.length), thread.fail);
  };
  return {
    record: (call) => {
      thread.assertOpen();
      const encoded = encode(call);
      journal.append(encoded);
      if (collected.push(encoded) === 1) timer = setTimeout(flush, collectMs);
    },
    flush,
    close: () => journal.close(),
  };
}

async function openEmptyJournal(
  thread: TurnThread,
  path: string,
  warn: (message: string) => void,
): Promise<Journal> {
  const journal = openJournal(path);
  try {
    if (journal.damage) warn(lossOf(journal.damage, journal.left.length));
    if (journal.left.length > 0) await thread.call('record', journal.left);
    journal.clear();
    return journal;
  } catch (error) {
    journal.close();
    throw error;
  }
}

function lossOf({ bytes, missing, copies }: Damage, recovered: number): string {
  const lost =
    missing > 0
      ? `${missing} calls that clients have the answers of are missing, unless they were stored before; more if they were the first or the last`
      : 'the last call may be missing, whose client may not have its answer';
  return `The journal of served calls has ${bytes} bytes that cannot be read: ${lost}. The other ${recovered} calls in it are kept. Feedback on a missing call gets 404. Expected what an earlier process wrote; look at the disk. The journal as it was: ${copies.join(', ')}.`;
}

const encode = ({ msgId, session, experiences }: ServedCall): EncodedCall => ({
  msgId,
  session,
  experiences: experiences.map((experience) => withOwnBuffer(encodeExperience(experience))),
});

const buffersOf = (calls: readonly EncodedCall[]): readonly ArrayBuffer[] =>
  calls.flatMap(({ experiences }) => experiences.map(({ buffer }) => buffer));

/**
 * Returns the bytes in a buffer of their own. Copies them if they share a buffer, because a buffer
 * can only be transferred to the thread as a whole.
 */
function withOwnBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(bytes);
}
