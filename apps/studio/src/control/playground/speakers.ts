/**
 * Runs models in processes of their own, which are started on demand. At most two models are loaded
 * at a time, and only if memory suffices.
 */
import type { SayRequest, Scored, Spoken } from '../interface/index.js';
import type { FoundCheckpoint } from './checkpoints.js';
import type { CallToScore, Part, Question } from './protocol.js';
import { answer, startSpeaker, within, type Speaker } from './speaker-process.js';

export interface SpeakersOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Time in ms without a request after which a model is unloaded.
   * @default 300000
   */
  readonly idleMs?: number;
  /** Returns the number of free bytes of memory. @default `process.availableMemory()` */
  readonly availableMemory?: () => number;
}

export interface Speakers {
  /**
   * Samples a response from the model. Calls `tell` with its parts as they arrive. The last part is
   * `end` or `problem`. The returned promise never rejects.
   */
  say(
    checkpoint: FoundCheckpoint,
    request: Omit<SayRequest, 'checkpoint'>,
    signal: AbortSignal,
    tell: (part: Spoken) => void,
  ): Promise<void>;
  /**
   * Scores recorded calls with the model, one after the other. Calls `tell` as {@link say} does.
   * The returned promise never rejects.
   */
  score(
    checkpoint: FoundCheckpoint,
    calls: readonly CallToScore[],
    signal: AbortSignal,
    tell: (part: Scored) => void,
  ): Promise<void>;
  close(): Promise<void>;
}

/**
 * Bytes of memory per byte of stored weights: computing may need twice the stored precision, plus a
 * cache.
 */
const bytesPerStoredByte = 3;
const ownBytes = 400 * 2 ** 20;
const openMs = 180_000;
/**
 * Time in ms without output after which a request fails. For responses, this applies to each token.
 * For scoring, it applies to each call, whose tokens are scored in one pass.
 */
const silenceMs = { say: 60_000, score: 300_000 } as const;
const roomMs = 60_000;
const lookForRoomMs = 100;
const mostLoaded = 2;

type Tell = (part: Part) => void;

export function createSpeakers({
  env,
  idleMs = 300_000,
  availableMemory = () => process.availableMemory(),
}: SpeakersOptions): Speakers {
  /** Speakers by {@link keyOf}. */
  const loaded = new Map<string, Speaker>();
  let nextId = 0;
  let isClosed = false;
  const end = (key: string): void => {
    loaded.get(key)?.child.kill('SIGKILL');
    loaded.delete(key);
  };
  const idle = setInterval(
    () => {
      for (const [key, { uses, usedAt }] of loaded)
        if (uses === 0 && Date.now() - usedAt > idleMs) end(key);
    },
    Math.min(idleMs, 10_000),
  ).unref();

  /**
   * Unloads idle models until there is room for another model. If the loaded models are in use,
   * waits for up to a minute.
   */
  const makeRoom = async (
    { bytes }: FoundCheckpoint,
    signal: AbortSignal,
    tell: Tell,
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

  /** Queue that loads one model at a time, so that two models do not claim the same memory. */
  let queue: Promise<unknown> = Promise.resolve();
  const open = (checkpoint: FoundCheckpoint, signal: AbortSignal, tell: Tell): Promise<Speaker> => {
    const opened = queue.then(async () => {
      signal.throwIfAborted();
      const key = keyOf(checkpoint);
      const known = loaded.get(key);
      if (known) {
        known.uses++;
        return known;
      }
      await makeRoom(checkpoint, signal, tell);
      if (isClosed) throw new Error('The studio is being closed.');
      const speaker = startSpeaker(checkpoint.folder, env);
      loaded.set(key, speaker);
      speaker.child.once('exit', () => {
        if (loaded.get(key) === speaker) loaded.delete(key);
      });
      return speaker;
    });
    queue = opened.catch(() => undefined);
    return opened;
  };

  /** Sends a request to a model and calls `tell` with the parts of its response. */
  const put = async (
    checkpoint: FoundCheckpoint,
    question: Question,
    signal: AbortSignal,
    tell: Tell,
  ): Promise<void> => {
    let speaker: Speaker | undefined;
    try {
      tell({ kind: 'wait', what: `the model ${checkpoint.name}` });
      speaker = await open(checkpoint, signal, tell);
      await within(speaker.ready, openMs, `loading ${checkpoint.name}`, signal);
      await answer(speaker, question, silenceMs[question.kind], signal, tell);
    } catch (error) {
      if (!signal.aborted) tell({ kind: 'problem', problem: messageOf(error) });
      // A process that hangs or has failed cannot be reused.
      if (speaker && !signal.aborted) end(keyOf(checkpoint));
    } finally {
      if (speaker) {
        speaker.uses--;
        speaker.usedAt = Date.now();
      }
    }
  };

  return {
    say: (checkpoint, request, signal, tell) =>
      put(checkpoint, { kind: 'say', id: nextId++, request }, signal, tell as Tell),
    score: (checkpoint, calls, signal, tell) =>
      put(checkpoint, { kind: 'score', id: nextId++, calls }, signal, tell as Tell),
    close: async () => {
      isClosed = true;
      clearInterval(idle);
      const ends = [...loaded.values()].map(
        ({ child }) => new Promise((resolve) => child.once('exit', resolve)),
      );
      for (const key of [...loaded.keys()]) end(key);
      await Promise.all(ends);
    },
  };
}

const keyOf = ({ folder, version }: FoundCheckpoint): string => `${folder} ${version}`;
const mib = (bytes: number): number => Math.round(bytes / 2 ** 20);
const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  within(new Promise((resolve) => setTimeout(resolve, ms)), 2 * ms + 1000, 'a pause', signal);
