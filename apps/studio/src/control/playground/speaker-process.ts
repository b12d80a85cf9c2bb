/** Client of the process that serves one model. */
import { fork, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { inheritedFlags, untilAborted } from '@trinity-rft/core/support';
import { environmentOf, type TrinityCommand } from '../shared/command.js';
import type { FromSpeaker, Part, Question, ToSpeaker } from './protocol.js';

export interface Speaker {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  /** Number of requests in progress. */
  uses: number;
  usedAt: number;
  readonly listeners: Map<number, (part: Part) => void>;
}

export function startSpeaker(folder: string, env: TrinityCommand['env']): Speaker {
  // Leaves half of the processors to training, which may run at the same time.
  const threads = Math.max(1, Math.floor(availableParallelism() / 2));
  const child = fork(fileURLToPath(new URL('./speaker.js', import.meta.url)), {
    env: environmentOf(env),
    ...inheritedFlags(),
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const listeners = new Map<number, (part: Part) => void>();
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

/**
 * Sends a message. Errors are ignored, because the `exit` event reports that the process has ended.
 */
const send = (child: ChildProcess, message: ToSpeaker): void =>
  void child.send(message, () => undefined);

/**
 * Sends a request, and calls `tell` with each part of the response. Resolves after the last part,
 * or when the request is aborted. Rejects if no part arrives for `silenceMs` milliseconds.
 */
export async function answer(
  { child, listeners }: Speaker,
  question: Question,
  silenceMs: number,
  signal: AbortSignal,
  tell: (part: Part) => void,
): Promise<void> {
  const { id } = question;
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
  send(child, question);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    listeners.delete(id);
    signal.removeEventListener('abort', onAbort);
  }
}

export async function within<T>(
  work: Promise<T>,
  ms: number,
  what: string,
  signal: AbortSignal,
): Promise<T> {
  const late = new AbortController();
  const reason = new Error(`${what} took more than ${ms / 1000} s.`);
  const timer = setTimeout(() => late.abort(reason), ms);
  try {
    return await untilAborted(work, AbortSignal.any([signal, late.signal]));
  } finally {
    clearTimeout(timer);
  }
}
