/**
 * Calls a judge model until its response can be parsed, with a limited number of attempts and a
 * deadline for each attempt. Returns failures instead of throwing them.
 */
import {
  ConfigError,
  describeError,
  ModelError,
  type ChatMessage,
  type Clock,
  CancelledError,
} from '@trinity-rft/core';
import { redactText } from '@trinity-rft/core/support';
import type { AgentModel } from '../../definition/types.js';

export interface JudgeQuestion<T> {
  readonly judge: AgentModel;
  readonly messages: readonly ChatMessage[];
  /** Parses a response of the judge. Returns undefined if the response cannot be parsed. */
  readonly parse: (answer: string) => T | undefined;
  /**
   * Description of the expected format, such as `a JSON object with the key "rating"`. It is sent
   * to the judge if a response cannot be parsed.
   */
  readonly expected: string;
  /** Maximum number of calls. @default 2 */
  readonly attempts?: number;
  /** Deadline of one call, in milliseconds. @default 60000 */
  readonly timeoutMs?: number;
  /** Sampling temperature. @default 0 */
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly clock: Clock;
  /** Signal that aborts when the rollout ends. */
  readonly signal: AbortSignal;
}

/**
 * Result of calling a judge: its verdict as `value`, or the reason why there is none as `failure`.
 */
export interface Verdict<T> {
  readonly value: T | undefined;
  /** Number of calls made. */
  readonly attempts: number;
  readonly failure?: string;
}

/**
 * Calls the judge. Returns a verdict without a value if all attempts fail. Throws only if `signal`
 * aborts, or if `chat` throws a ConfigError.
 */
export async function askJudge<T>(question: JudgeQuestion<T>): Promise<Verdict<T>> {
  const { messages, parse, expected, attempts = 2, signal } = question;
  const conversation = [...messages];
  let failure = '';
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const answer = await askOnce(question, conversation);
    signal.throwIfAborted();
    if ('text' in answer) {
      const { text, isCut } = answer;
      const value = isCut ? undefined : parse(text);
      if (value !== undefined) return { value, attempts: attempt };
      const cut = isCut ? ', cut at its token limit' : '';
      failure = `the judge answered ${JSON.stringify(text.slice(0, 80))}${cut}`;
      const reminder = `That cannot be read. Answer with ${expected} and nothing else.`;
      conversation.push({ role: 'assistant', content: text }, { role: 'user', content: reminder });
    } else {
      failure = redactText(describeError(answer.error)).replace(/\.$/, '');
      if (!answer.retryable) return { value: undefined, attempts: attempt, failure };
    }
  }
  return { value: undefined, attempts, failure };
}

interface Answered {
  readonly text: string;
  /** True if the response was cut off at the token limit. Its text is then not parsed. */
  readonly isCut: boolean;
}

interface Failed {
  readonly error: unknown;
  readonly retryable: boolean;
}

async function askOnce<T>(
  question: JudgeQuestion<T>,
  messages: readonly ChatMessage[],
): Promise<Answered | Failed> {
  const { judge, temperature = 0, maxTokens, timeoutMs = 60_000, clock, signal } = question;
  const done = new AbortController();
  const both = AbortSignal.any([signal, done.signal]);
  const late = new CancelledError(
    `The judge "${judge.modelPath}" did not answer within ${timeoutMs / 1000} s.`,
    { reason: 'aborted', code: 'JUDGE_TIMEOUT' },
  );
  const deadline = clock.sleep(timeoutMs, both).then(() => {
    done.abort(late);
    throw late;
  });
  deadline.catch(() => undefined);
  const call = judge.chat(messages, { temperature, maxTokens, signal: both });
  // The call may reject after the deadline has won the race, when nothing awaits the call.
  call.catch(() => undefined);
  try {
    const [response] = await Promise.race([call, deadline]);
    return { text: response?.responseText ?? '', isCut: response?.finishReason === 'length' };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return { error, retryable: error === late || isTransient(error) };
  } finally {
    done.abort(new CancelledError('The call of the judge has ended.', { reason: 'aborted' }));
  }
}

/**
 * Returns false for errors that would occur again in a retry, such as a prompt that is too long or
 * a wrong key.
 */
function isTransient(error: unknown): boolean {
  return !(error instanceof ModelError) || error.retryable || error.status >= 500;
}
