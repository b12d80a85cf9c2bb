/** Rollout with its turns: texts, times and called tools. */
import { spansOf } from '@trinity-rft/core';
import type { Trace, Turn } from '../interface/types.js';
import { finishReasonOf, rolloutCalls, rolloutOf, type ReadCall } from './rollout.js';
import type { RolloutStore } from './store.js';
import { answerOf, askedIn, spokenBy } from './texts.js';

/** Maximum length of the question and the answer, and maximum length of a turn's text. */
const [longestText, longestPreview] = [20_000, 200];

/**
 * Returns the trace of the rollout that row `id` of the store belongs to, or undefined if there is
 * no such row.
 */
export async function traceOf(id: number, store: RolloutStore): Promise<Trace | undefined> {
  const calls = await rolloutCalls(id, store);
  if (!calls) return undefined;
  const tokenizer = await store.tokenizer();
  const rollout = await rolloutOf(calls, store);
  const last = calls.at(-1) ?? calls[0];
  return {
    ...rollout,
    question: askedIn(calls[0].row.experience, tokenizer).slice(0, longestText),
    answer: answerOf(last.row.experience, tokenizer, longestText),
    turnList: calls.flatMap((call) =>
      turnsOf(call, rollout.startedAt, (turn) =>
        spokenBy(call.row.experience, tokenizer, longestPreview, turn),
      ),
    ),
  };
}

/** Returns one turn for each model call that a stored row contains. */
function turnsOf(
  { row: { id, experience }, call }: ReadCall,
  startedAt: number | undefined,
  textOf: (turn: number) => string,
): readonly Turn[] {
  const spans = spansOf(experience);
  return spans.map(({ start, end, step, policyVersion }, i): Turn => {
    const time = call.times?.[i];
    const isLast = i === spans.length - 1;
    return {
      id,
      step,
      policyVersion,
      start: time && startedAt !== undefined ? (time.start - startedAt) / 1000 : undefined,
      seconds: time && (time.end - time.start) / 1000,
      promptTokens: call.promptTokens + start,
      responseTokens: end - start,
      tools: call.tools.filter(({ at }) => at >= start && at < end).map(({ name }) => name ?? ''),
      text: textOf(i),
      // Merged rows only have the finish reason and the problem of their last call.
      finishReason: isLast ? finishReasonOf(experience) : undefined,
      problem: isLast ? call.problem : undefined,
    };
  });
}
