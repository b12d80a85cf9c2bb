/** Asking another model for a verdict: bounded tries, a deadline for each, and failures as data. */
import {
  CancelledError,
  ConfigError,
  describeError,
  ModelError,
  type ChatMessage,
  type Clock,
} from '@trinity-rft/core';
import type { AgentModel } from '../../definition/types.js';

export interface JudgeQuestion<T> {
  readonly judge: AgentModel;
  readonly messages: readonly ChatMessage[];
  /** Undefined: the answer cannot be read. */
  readonly parse: (answer: string) => T | undefined;
  /**
   * What an answer looks like, told to a judge whose answer cannot be read: `a JSON object with the
   * key "rating"`.
   */
  readonly expected: string;
  /** Calls at most. @default 2 */
  readonly attempts?: number;
  /** Of one call, in milliseconds. @default 60 s */
  readonly timeoutMs?: number;
  /** @default 0 */
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly clock: Clock;
  /** That of the run; when it aborts, so does the question. */
  readonly signal: AbortSignal;
}

/** What came of it. Without a value `failure` says why. */
export interface Verdict<T> {
  readonly value: T | undefined;
  /** Calls that were made. */
  readonly attempts: number;
  readonly failure?: string;
}

/**
 * Never rejects because of the judge: only when `signal` aborts, or when the configuration is
 * wrong.
 */
export async function askJudge<T>(question: JudgeQuestion<T>): Promise<Verdict<T>> {
  const { messages, parse, expected, attempts = 2, signal } = question;
  const conversation = [...messages];
  let failure = '';
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const answer = await askOnce(question, conversation);
    signal.throwIfAborted();
    if (typeof answer === 'string') {
      const value = parse(answer);
      if (value !== undefined) return { value, attempts: attempt };
      failure = `the judge answered ${JSON.stringify(answer.slice(0, 80))}`;
      const reminder = `That cannot be read. Answer with ${expected} and nothing else.`;
      conversation.push(
        { role: 'assistant', content: answer },
        { role: 'user', content: reminder },
      );
    } else {
      failure = describeError(answer.error);
      if (!answer.worthRepeating) return { value: undefined, attempts: attempt, failure };
    }
  }
  return { value: undefined, attempts, failure };
}

interface Failed {
  readonly error: unknown;
  readonly worthRepeating: boolean;
}

async function askOnce<T>(
  question: JudgeQuestion<T>,
  messages: readonly ChatMessage[],
): Promise<string | Failed> {
  const { judge, temperature = 0, maxTokens, timeoutMs = 60_000, clock, signal } = question;
  const done = new AbortController();
  const both = AbortSignal.any([signal, done.signal]);
  const late = new CancelledError(
    `The judge "${judge.modelPath}" did not answer within ${timeoutMs / 1000} s.`,
    {
      reason: 'aborted',
      code: 'JUDGE_TIMEOUT',
    },
  );
  const deadline = clock.sleep(timeoutMs, both).then(() => {
    done.abort(late);
    throw late;
  });
  deadline.catch(() => undefined);
  const call = judge.chat(messages, {
    temperature,
    signal: both,
    ...(maxTokens !== undefined && { maxTokens }),
  });
  // Whoever loses the race may still reject; nobody waits for it any more.
  call.catch(() => undefined);
  try {
    const [response] = await Promise.race([call, deadline]);
    return response?.responseText ?? '';
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return { error, worthRepeating: error === late || isPassing(error) };
  } finally {
    done.abort(new CancelledError('The judge is not waited for any more.', { reason: 'aborted' }));
  }
}

/** A prompt that does not fit or a key that is wrong fails the same way again. */
function isPassing(error: unknown): boolean {
  return !(error instanceof ModelError) || error.retryable || error.status >= 500;
}
