/** The turn store: encodes here, and leaves what waits for the disk to a thread. */
import { encodeExperience } from '@trinity-rft/core';
import type { TurnStoreOptions } from './sqlite.js';
import { TurnThread } from './thread.js';
import type { TurnStore } from './turn-store.js';

/**
 * Opens or makes the store. One store may have the file open at a time; the operating system's lock on it ends with the process.
 * What a call resolved from survives SIGKILL and a power cut. An open store keeps no process alive that waits for nothing of it.
 * @throws BufferError when another store has the file open, it is damaged or foreign, or the thread does not start
 */
export async function openTurnStore(options: TurnStoreOptions): Promise<TurnStore> {
  const { thread, starts } = await TurnThread.open(options);
  return {
    starts,
    gone: thread.gone,
    record: async ({ msgId, session, experiences }) => {
      const encoded = experiences.map((experience) => apart(encodeExperience(experience)));
      await thread.ask(
        'record',
        [{ msgId, session, experiences: encoded }],
        encoded.map(({ buffer }) => buffer),
      );
    },
    sessionOf: (msgId) => thread.ask('sessionOf', [msgId]),
    reward: (feedback) => thread.ask('reward', [feedback]),
    begin: (step) => thread.ask('begin', [step]),
    begun: () => thread.ask('begun', []),
    settle: (step) => thread.ask('settle', [step]),
    lastStep: () => thread.ask('lastStep', []),
    counts: () => thread.ask('counts', []),
    close: () => thread.close(),
  };
}

/** Bytes whose buffer can be handed over, for it holds nothing else. */
function apart(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
