/** All model calls of an attempt, each without the part that repeats an earlier call. */
import type { ExperienceRow, ExperienceUse } from '@trinity-rft/buffer';
import type { Tokenizer } from '@trinity-rft/chat';
import { tokenTexts } from '@trinity-rft/chat';
import { runKey, type Experience, spansOf, uid } from '@trinity-rft/core';
import type { Conversation, RecordedCall, Segment } from '../interface/types.js';
import { problemOf, textOf } from './head.js';
import { advantagesOf, type RolloutStore, type UsedAdvantages } from './store.js';
import type { ToolCallCounter } from './tool-calls.js';

/** Undefined if there is no such row. */
export async function conversationOf(
  id: number,
  store: RolloutStore,
): Promise<Conversation | undefined> {
  const { reader } = store;
  const chosen = reader.row(id);
  if (!chosen) return undefined;
  const { eid } = chosen.experience;
  const rows = rowsOfRun(`${runKey(eid)}/`, store);
  const tokenizer = await store.tokenizer();
  const parts = { tokenizer, toolCalls: await store.toolCalls() };
  const failures = await store.failures.read();
  const uses = new Map(rows.map((row) => [row.id, reader.uses(row.id)]));
  const own = advantagesOf(chosen.experience, uses.get(id) ?? []);
  return {
    batch: String(eid.batch),
    task: String(eid.task),
    run: eid.run,
    calls: rows.map((row, i) =>
      callOf(row, rows.slice(0, i), { ...parts, uses: uses.get(row.id) ?? [] }),
    ),
    advantagesOf: own.of,
    failure: failures.get(runKey(eid))?.message,
  };
}

/** Rows of a run in the order of their calls. */
export function rowsOfRun(prefix: string, { reader }: RolloutStore): readonly ExperienceRow[] {
  return reader
    .idsOf(prefix)
    .flatMap((id) => reader.row(id) ?? [])
    .toSorted((a, b) => firstStep(a) - firstStep(b) || a.id - b.id);
}

const firstStep = ({ experience }: ExperienceRow): number =>
  spansOf(experience)[0]?.step ?? experience.eid.step;

interface CallParts {
  readonly uses: readonly ExperienceUse[];
  readonly tokenizer: Tokenizer | undefined;
  readonly toolCalls: ToolCallCounter;
}

function callOf(
  { id, experience }: ExperienceRow,
  earlier: readonly ExperienceRow[],
  { uses, tokenizer, toolCalls }: CallParts,
): RecordedCall {
  const { eid, policyVersion, reward, info } = experience;
  const beginning = beginningOf(experience, earlier);
  return {
    id,
    uid: uid(eid),
    step: eid.step,
    policyVersion,
    reward,
    finishReason: textOf(info['finishReason']),
    problem: problemOf(experience),
    toolCalls: toolCalls(experience),
    ...beginning,
    fork: textOf(info['fork']),
    segments: segmentsOf(experience, beginning.same, {
      advantages: advantagesOf(experience, uses),
      tokenizer,
    }),
  };
}

/**
 * Minimum share of an earlier prompt that a conversation repeats when it continues; prompts of
 * sub-agents have less in common.
 */
const shareOfFork = 0.5;

/**
 * Relation of a call to earlier ones. `spliced`: the prompt begins with all tokens of an earlier
 * call, prompt and response. `forked`: the recorder reported a fork, or the prompt repeats most of
 * an earlier prompt, which was then rendered again.
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

interface SegmentParts {
  readonly advantages: UsedAdvantages;
  readonly tokenizer: Tokenizer | undefined;
}

/**
 * Segments from token `from` on. A new segment begins where the mask changes, and at another call
 * or version.
 */
function segmentsOf(experience: Experience, from: number, parts: SegmentParts): Segment[] {
  const { tokens, promptLength, actionMask } = experience;
  const begins = new Set([from, promptLength, ...versionStarts(experience)]);
  const segments: Segment[] = [];
  const texts = parts.tokenizer && tokenTexts(parts.tokenizer, tokens);
  const isSampled = (i: number): boolean => i >= promptLength && actionMask[i - promptLength] === 1;
  let start = from;
  for (let i = from + 1; i <= tokens.length; i++) {
    const isEnd = i === tokens.length || begins.has(i) || isSampled(i) !== isSampled(start);
    if (!isEnd) continue;
    segments.push(
      segmentOf(experience, { start, end: i, sampled: isSampled(start) }, texts, parts),
    );
    start = i;
  }
  return segments;
}

/** Tokens at which another call or version of the weights begins. */
function versionStarts({ spans = [], promptLength, info }: Experience): readonly number[] {
  const inFlight = versionsOf(info).map(({ start }) => start);
  return [...spans.map(({ start }) => start), ...inFlight].map((start) => promptLength + start);
}

interface VersionSpan {
  readonly start: number;
  readonly end: number;
  readonly policyVersion: number;
}

/** Versions of the weights that wrote the response, if they changed during it. */
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
  { advantages }: SegmentParts,
): Segment {
  const { tokens, promptLength, logprobs, tokenRewards, teacherLogprobs, info } = experience;
  const [from, to] = [start - promptLength, end - promptLength];
  const numbers = (values: Float32Array | undefined): (number | null)[] | undefined =>
    sampled ? values && Array.from(values.subarray(from, to), finiteOrNull) : undefined;
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

const finiteOrNull = (value: number): number | null => (Number.isFinite(value) ? value : null);
