/** Models that are loaded: on demand, as many as memory allows, each in a process of its own. */
import { fork, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { SayRequest, Spoken } from '../interface/index.js';
import { environmentOf } from '../shared/command.js';
import type { FoundCheckpoint } from './checkpoints.js';
import type { FromSpeaker, ToSpeaker } from './protocol.js';

export interface SpeakersOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A model that nobody has asked for so long is given back. @default 5 minutes */
  readonly idleMs?: number;
  /** Bytes that a process may still take. @default what the system says */
  readonly availableMemory?: () => number;
}

export interface Speakers {
  /** Parts of the answer as they come, the last one `end` or `problem`. Never rejects. */
  say(
    checkpoint: FoundCheckpoint,
    request: Omit<SayRequest, 'checkpoint'>,
    signal: AbortSignal,
    tell: (part: Spoken) => void,
  ): Promise<void>;
  close(): Promise<void>;
}

/** Weights may be stored in half the precision that they are computed with; beside them, a cache. */
const bytesPerStoredByte = 3;
const ownBytes = 400 * 2 ** 20;
const openMs = 180_000;
/** Without a token. */
const silenceMs = 60_000;
const roomMs = 60_000;
const lookForRoomMs = 100;
const mostLoaded = 2;

interface Speaker {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  /** Answers that are being given. */
  uses: number;
  usedAt: number;
  readonly listeners: Map<number, (part: Spoken) => void>;
}

export function createSpeakers({
  env,
  idleMs = 300_000,
  availableMemory = () => process.availableMemory(),
}: SpeakersOptions): Speakers {
  const loaded = new Map<string, Speaker>();
  let nextId = 0;
  let isClosed = false;
  const end = (folder: string): void => {
    loaded.get(folder)?.child.kill('SIGKILL');
    loaded.delete(folder);
  };
  const idle = setInterval(
    () => {
      for (const [folder, { uses, usedAt }] of loaded)
        if (uses === 0 && Date.now() - usedAt > idleMs) end(folder);
    },
    Math.min(idleMs, 10_000),
  ).unref();

  /** Gives back what nobody uses, until there is room; waits for what is in use. */
  const makeRoom = async (
    { bytes }: FoundCheckpoint,
    signal: AbortSignal,
    tell: (part: Spoken) => void,
  ): Promise<void> => {
    const needed = bytes * bytesPerStoredByte + ownBytes;
    const deadline = Date.now() + roomMs;
    let hasTold = false;
    for (;;) {
      if (loaded.size === 0) break;
      if (loaded.size < mostLoaded && availableMemory() > needed) return;
      const unused = [...loaded]
        .filter(([, { uses }]) => uses === 0)
        .toSorted(([, a], [, b]) => a.usedAt - b.usedAt)[0];
      if (unused) {
        const { child } = unused[1];
        const ended = new Promise((resolve) => child.once('exit', resolve));
        end(unused[0]);
        await ended;
        continue;
      }
      if (Date.now() > deadline)
        throw new Error(
          `There is no room for this model beside the one that answers now: waited ${roomMs / 1000} s for it.`,
        );
      if (!hasTold) tell({ kind: 'wait', what: 'the model that answers now, to free its memory' });
      hasTold = true;
      await pause(lookForRoomMs, signal);
    }
    if (availableMemory() > needed) return;
    throw new Error(
      `This model needs about ${mib(needed)} MiB of memory, and ${mib(availableMemory())} MiB are free.`,
    );
  };

  /** One at a time, so that two do not take the same room. */
  let queue: Promise<unknown> = Promise.resolve();
  const open = (
    checkpoint: FoundCheckpoint,
    signal: AbortSignal,
    tell: (part: Spoken) => void,
  ): Promise<Speaker> => {
    const opened = queue.then(async () => {
      signal.throwIfAborted();
      const known = loaded.get(checkpoint.folder);
      if (known) {
        known.uses++;
        return known;
      }
      await makeRoom(checkpoint, signal, tell);
      if (isClosed) throw new Error('The studio is being closed.');
      const speaker = startSpeaker(checkpoint.folder, env);
      loaded.set(checkpoint.folder, speaker);
      speaker.child.once('exit', () => {
        if (loaded.get(checkpoint.folder) === speaker) loaded.delete(checkpoint.folder);
      });
      return speaker;
    });
    queue = opened.catch(() => undefined);
    return opened;
  };

  return {
    say: async (checkpoint, request, signal, tell) => {
      let speaker: Speaker | undefined;
      try {
        tell({ kind: 'wait', what: `the model ${checkpoint.name}` });
        speaker = await open(checkpoint, signal, tell);
        await within(speaker.ready, openMs, `loading ${checkpoint.name}`, signal);
        await answer(speaker, { id: nextId++, request }, signal, tell);
      } catch (error) {
        if (!signal.aborted) tell({ kind: 'problem', problem: messageOf(error) });
        // What hangs or has failed does not come back.
        if (speaker && !signal.aborted) end(checkpoint.folder);
      } finally {
        if (speaker) {
          speaker.uses--;
          speaker.usedAt = Date.now();
        }
      }
    },
    close: async () => {
      isClosed = true;
      clearInterval(idle);
      const ends = [...loaded.values()].map(
        ({ child }) => new Promise((resolve) => child.once('exit', resolve)),
      );
      for (const folder of [...loaded.keys()]) end(folder);
      await Promise.all(ends);
    },
  };
}

const mib = (bytes: number): number => Math.round(bytes / 2 ** 20);
const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

function startSpeaker(folder: string, env: SpeakersOptions['env']): Speaker {
  // Training may go on beside it.
  const threads = Math.max(1, Math.floor(availableParallelism() / 2));
  const child = fork(fileURLToPath(new URL('./speaker.js', import.meta.url)), {
    env: environmentOf(env),
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const listeners = new Map<number, (part: Spoken) => void>();
  let lastWords = '';
  child.stderr?.on(
    'data',
    (text: Buffer) => (lastWords = `${lastWords}${String(text)}`.slice(-2000)),
  );
  const ready = new Promise<void>((resolve, reject) => {
    const over = (why: string): void => {
      reject(new Error(why));
      for (const listener of listeners.values()) listener({ kind: 'problem', problem: why });
    };
    child.on('message', (message: FromSpeaker) => {
      if (message.kind === 'ready') resolve();
      else if (message.kind === 'failed') over(message.problem);
      else listeners.get(message.id)?.(message.part);
    });
    child.once('error', (error) => over(error.message));
    child.once('exit', () => over(`The process of the model has ended. ${lastWords.trim()}`));
  });
  ready.catch(() => undefined);
  send(child, { kind: 'open', folder, threads });
  return { child, ready, uses: 1, usedAt: Date.now(), listeners };
}

/** A process that has ended says so by itself. */
const send = (child: ChildProcess, message: ToSpeaker): void =>
  void child.send(message, () => undefined);

/** Resolves with the last part. Every part must follow the one before in time. */
async function answer(
  { child, listeners }: Speaker,
  { id, request }: { readonly id: number; readonly request: Omit<SayRequest, 'checkpoint'> },
  signal: AbortSignal,
  tell: (part: Spoken) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const silent = (): void =>
    reject(new Error(`The model has said nothing for ${silenceMs / 1000} s, so it was ended.`));
  const timer = setTimeout(silent, silenceMs);
  const onAbort = (): void => {
    send(child, { kind: 'stop', id });
    resolve();
  };
  listeners.set(id, (part) => {
    timer.refresh();
    tell(part);
    if (part.kind === 'end' || part.kind === 'problem') resolve();
  });
  signal.addEventListener('abort', onAbort, { once: true });
  send(child, { kind: 'say', id, request });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    listeners.delete(id);
    signal.removeEventListener('abort', onAbort);
  }
}

async function within<T>(
  work: Promise<T>,
  ms: number,
  what: string,
  signal: AbortSignal,
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = (): void => reject(new Error(`${what} took more than ${ms / 1000} s.`));
  const timer = setTimeout(late, ms);
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  within(new Promise((resolve) => setTimeout(resolve, ms)), 2 * ms + 1000, 'a pause', signal);
