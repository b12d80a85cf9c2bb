/** Model calls of an attempt, each without the tokens that it shares with an earlier call. */
import type { ExperienceRow } from '@trinity-rft/buffer';
import { tokenTexts, type Tokenizer } from '@trinity-rft/chat';
import { runKey, type Experience, spansOf } from '@trinity-rft/core';
import type { Conversation, RecordedCall, Segment } from '../interface/types.js';
import { finite } from '../metrics/curve.js';
import { textOf } from './head.js';
import { finishReasonOf, rolloutCalls, type ReadCall } from './rollout.js';
import { advantagesOf, type RolloutStore, type UsedAdvantages } from './store.js';

/**
 * Returns the conversation of the attempt that row `id` of the store belongs to, or undefined if
 * there is no such row.
 */
export async function conversationOf(
  id: number,
  store: RolloutStore,
): Promise<Conversation | undefined> {
  const calls = await rolloutCalls(id, store);
  if (!calls) return undefined;
  const [{ call: first, row }] = calls;
  const tokenizer = await store.tokenizer();
  const failure = (await store.failures.read()).get(runKey(row.experience.eid));
  const chosen = calls.find((each) => each.row.id === id) ?? calls[0];
  return {
    batch: first.batch,
    task: first.task,
    run: first.run,
    calls: calls.map((call, i) => recordedCall(call, calls.slice(0, i), tokenizer)),
    advantagesOf: advantagesOf(chosen.row.experience, chosen.uses).of,
    // A failure without the failure reward is that of an earlier try.
    failure: failure?.isRewarded === true ? failure.message : undefined,
  };
}

function recordedCall(
  { row: { id, experience }, call, uses }: ReadCall,
  earlier: readonly ReadCall[],
  tokenizer: Tokenizer | undefined,
): RecordedCall {
  const { eid, policyVersion, reward, info } = experience;
  const beginning = beginningOf(
    experience,
    earlier.map(({ row }) => row),
  );
  return {
    id,
    uid: call.uid,
    step: eid.step,
    policyVersion,
    reward,
    finishReason: finishReasonOf(experience),
    problem: call.problem,
    toolCalls: call.tools.length,
    ...beginning,
    fork: textOf(info['fork']),
    segments: segmentsOf(experience, beginning.same, advantagesOf(experience, uses), tokenizer),
  };
}

/**
 * Minimum share of an earlier prompt that a call must repeat to count as a fork of that
 * conversation. Calls of sub-agents repeat less.
 */
const shareOfFork = 0.5;

/**
 * Determines how a call relates to the earlier calls. `spliced`: the prompt begins with all tokens
 * (prompt and response) of an earlier call. `forked`: the recorder reported a fork, or the prompt
 * repeats at least half of an earlier prompt. `new`: neither.
 */
function beginningOf(
  { tokens, promptLength, info }: Experience,
  earlier: readonly ExperienceRow[],
): Pick<RecordedCall, 'beginning' | 'after' | 'same'> {
  const prompt = tokens.subarray(0, promptLength);
  let best: { readonly row: ExperienceRow; readonly same: number } | undefined;
  for (const row of earlier) {
    const same = commonLength(prompt, row.experience.tokens);
    const isWhole = same === row.experience.tokens.length;
    if (isWhole || same >= (best?.same ?? 0)) best = { row, same };
  }
  if (!best) return { beginning: 'new', same: 0 };
  const { row, same } = best;
  if (same === row.experience.tokens.length) return { beginning: 'spliced', after: row.id, same };
  const isFork = typeof info['fork'] === 'string';
  if (isFork || same >= shareOfFork * row.experience.promptLength)
    return { beginning: 'forked', after: row.id, same };
  return { beginning: 'new', same: 0 };
}

function commonLength(a: Int32Array, b: Int32Array): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}

/**
 * Returns the tokens from index `from` on as segments. A new segment begins wherever the action
 * mask, the model call or the policy version changes.
 */
function segmentsOf(
  experience: Experience,
  from: number,
  advantages: UsedAdvantages,
  tokenizer: Tokenizer | undefined,
): Segment[] {
  const { tokens, promptLength, actionMask } = experience;
  const begins = new Set([from, promptLength, ...versionStarts(experience)]);
  const segments: Segment[] = [];
  const texts = tokenizer && tokenTexts(tokenizer, tokens);
  const isSampled = (i: number): boolean => i >= promptLength && actionMask[i - promptLength] === 1;
  let start = from;
  for (let i = from + 1; i <= tokens.length; i++) {
    const isEnd = i === tokens.length || begins.has(i) || isSampled(i) !== isSampled(start);
    if (!isEnd) continue;
    segments.push(
      segmentOf(experience, { start, end: i, sampled: isSampled(start) }, texts, advantages),
    );
    start = i;
  }
  return segments;
}

/** Indices of tokens at which another call or version of the weights begins. */
function versionStarts({ spans = [], promptLength, info }: Experience): readonly number[] {
  const inFlight = versionsOf(info).map(({ start }) => start);
  return [...spans.map(({ start }) => start), ...inFlight].map((start) => promptLength + start);
}

interface VersionSpan {
  readonly start: number;
  readonly end: number;
  readonly policyVersion: number;
}

/**
 * Returns the policy versions that sampled the response. Empty if the version did not change during
 * the response.
 */
const versionsOf = (info: Experience['info']): readonly VersionSpan[] =>
  Array.isArray(info['versions']) ? (info['versions'] as readonly VersionSpan[]) : [];

function segmentOf(
  experience: Experience,
  {
    start,
    end,
    sampled,
  }: { readonly start: number; readonly end: number; readonly sampled: boolean },
  texts: readonly string[] | undefined,
  advantages: UsedAdvantages,
): Segment {
  const { tokens, promptLength, logprobs, tokenRewards, teacherLogprobs, info } = experience;
  const [from, to] = [start - promptLength, end - promptLength];
  const numbers = (values: Float32Array | undefined): (number | null)[] | undefined =>
    sampled ? values && Array.from(values.subarray(from, to), finite) : undefined;
  const within = ({ start: first, end: last }: VersionSpan): boolean =>
    first <= from && from < last;
  return {
    sampled,
    policyVersion: sampled
      ? (versionsOf(info).find(within) ?? spansOf(experience).find(within))?.policyVersion
      : undefined,
    start,
    ids: [...tokens.subarray(start, end)],
    texts: texts?.slice(start, end),
    logprobs: numbers(logprobs),
    advantages: numbers(advantages.values),
    tokenRewards: numbers(tokenRewards),
    teacherLogprobs: numbers(teacherLogprobs),
  };
}
