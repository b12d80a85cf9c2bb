/**
 * Merges the model calls of a rollout into sequences, so that a shared prefix is trained on only
 * once.
 */
import { groupBy, runKey } from './eid.js';
import type { VersionSpan } from './engine.js';
import { assertAligned, responseLength, type CallSpan, type Experience } from './experience.js';
import type { Metrics } from './metrics.js';

/**
 * `step`: one experience per model call. `trajectory`: a call whose prompt starts with all tokens
 * of an earlier call is merged with that call into one experience.
 */
export type ExperienceShape = 'step' | 'trajectory';

/** Returns the model calls that an experience holds. A single call spans the whole response. */
export function spansOf(experience: Experience): readonly CallSpan[] {
  const { eid, policyVersion, reward } = experience;
  const end = responseLength(experience);
  return experience.spans ?? [{ start: 0, end, step: eid.step, policyVersion, reward }];
}

export interface MergedCalls {
  /**
   * Merged experiences, in the order of their first calls. A copy of a rollout is not merged with
   * the original, because the two are separate sequences in a loss. Each merged experience has the
   * id, reward and response text of its last call, the prompt text of its first call, and the
   * oldest policy version of its calls.
   */
  readonly experiences: readonly Experience[];
  /**
   * - `merged`: calls that were appended to the sequence of an earlier call
   * - `split/<reason>`: later calls of a rollout that started a new sequence. The reason is
   *   `info.fork` if the recorder set it, else `temperature`, `branched` (another call already
   *   continues the earlier one), `fields` (different per-token arrays) or `new`
   * - `tokens`, `tokens_saved`: number of tokens in all sequences, and number of tokens that
   *   merging saved
   */
  readonly metrics: Metrics;
}

/**
 * Merges a call with an earlier call of the same rollout if its prompt starts with exactly the
 * tokens (prompt and response) of the earlier call. Tokens between the responses become context
 * (mask 0, log-probability 0). Every sampled token is trained on in exactly one sequence, so the
 * training signal does not change. If several calls continue the same earlier call, only the first
 * of them is merged with it; the others contain its tokens in their prompts. Advantages must be
 * computed before the merge, because they are per token and are kept. Calls with different
 * temperatures are not merged.
 */
export function mergeCalls(experiences: readonly Experience[]): MergedCalls {
  const counts: Record<string, number> = { merged: 0 };
  const count = (name: string): void => void (counts[name] = (counts[name] ?? 0) + 1);
  const chains: Chain[] = [];
  for (const run of groupBy(experiences, ({ eid }) => runKey(eid)).values()) {
    const own: Chain[] = [];
    for (const call of run.toSorted((a, b) => a.eid.step - b.eid.step)) {
      const chain = longestContinued(own, call);
      if (chain) chain.push(call);
      else own.push([call]);
      if (chain) count('merged');
      else if (
        own.length > 1 &&
        !own.slice(0, -1).some((other) => other.at(-1)!.eid.step === call.eid.step)
      )
        count(`split/${splitReason(own.slice(0, -1).flat(), call)}`);
    }
    chains.push(...own);
  }
  const places = new Map(experiences.map((experience, place) => [experience, place]));
  const placeOf = ([first]: Chain): number => places.get(first!)!;
  const sequences = chains.toSorted((a, b) => placeOf(a) - placeOf(b)).map(join);
  const tokens = sumOfTokens(sequences);
  return {
    experiences: sequences,
    metrics: { ...counts, tokens, tokens_saved: sumOfTokens(experiences) - tokens },
  };
}

/** The calls in order, each of which continues the previous call; never empty. */
type Chain = Experience[];

function longestContinued(chains: readonly Chain[], call: Experience): Chain | undefined {
  let best: Chain | undefined;
  for (const chain of chains) {
    const end = chain.at(-1)!;
    const longer = end.tokens.length > (best?.at(-1)!.tokens.length ?? 0);
    if (
      longer &&
      end.temperature === call.temperature &&
      sameFields(end, call) &&
      continuesFrom(end, call)
    )
      best = chain;
  }
  return best;
}

const continuesFrom = (earlier: Experience, { tokens, promptLength }: Experience): boolean =>
  earlier.tokens.length <= promptLength && earlier.tokens.every((token, i) => token === tokens[i]);

function splitReason(earlier: readonly Experience[], call: Experience): string {
  const { fork } = call.info;
  if (typeof fork === 'string') return fork;
  const before = earlier.filter((other) => continuesFrom(other, call));
  if (before.length === 0) return 'new';
  if (before.every(({ temperature }) => temperature !== call.temperature)) return 'temperature';
  return before.some((other) => sameFields(other, call)) ? 'branched' : 'fields';
}

const optionalArrays = ['tokenRewards', 'advantages', 'returns', 'teacherLogprobs'] as const;

const sameFields = (a: Experience, b: Experience): boolean =>
  optionalArrays.every((field) => (a[field] === undefined) === (b[field] === undefined));

/**
 * Returns `info.versions` for the merged sequence, if the weights changed during one of its calls.
 */
function versionsOf(
  chain: Chain,
  offset: (call: Experience) => number,
): { readonly versions?: readonly VersionSpan[] } {
  if (chain.every(({ info }) => info['versions'] === undefined)) return {};
  const versions = chain.flatMap((call) => {
    const { policyVersion, info } = call;
    const end = responseLength(call);
    const own = (info['versions'] as readonly VersionSpan[] | undefined) ?? [
      { start: 0, end, policyVersion },
    ];
    return own.map((span) => ({
      ...span,
      start: span.start + offset(call),
      end: span.end + offset(call),
    }));
  });
  return { versions };
}

/**
 * Returns `info.times` for the merged sequence, that is, the start and end of each of its calls.
 * Returns nothing if a call has no times.
 */
function timesOf(chain: Chain): { readonly times?: readonly unknown[] } {
  const times = chain.map(({ info }) => info['times']);
  return times.every(Array.isArray) ? { times: times.flat() } : {};
}

function join(chain: Chain): Experience {
  const [first, last] = [chain[0]!, chain.at(-1)!];
  if (chain.length === 1) return first;
  const offset = (call: Experience): number => call.promptLength - first.promptLength;
  const length = last.tokens.length - first.promptLength;
  const spread = <A extends Float32Array | Uint8Array>(
    target: A,
    read: (call: Experience) => A,
  ): A => {
    for (const call of chain) target.set(read(call), offset(call));
    return target;
  };
  const joined: Experience = {
    ...last,
    promptLength: first.promptLength,
    actionMask: spread(new Uint8Array(length), (call) => call.actionMask),
    logprobs: spread(new Float32Array(length), (call) => call.logprobs),
    policyVersion: Math.min(...chain.map(({ policyVersion }) => policyVersion)),
    spans: chain.flatMap((call) =>
      spansOf(call).map((span) => ({
        ...span,
        start: span.start + offset(call),
        end: span.end + offset(call),
      })),
    ),
    promptText: first.promptText ?? last.promptText,
    info: { ...last.info, ...versionsOf(chain, offset), ...timesOf(chain) },
  };
  const arrays = optionalArrays.filter((field) => last[field] !== undefined);
  const merged = Object.fromEntries(
    arrays.map((field) => [field, spread(new Float32Array(length), (call) => call[field]!)]),
  );
  const sequence: Experience = { ...joined, ...merged };
  assertAligned(sequence);
  return sequence;
}

const sumOfTokens = (experiences: readonly Experience[]): number =>
  experiences.reduce((sum, { tokens }) => sum + tokens.length, 0);
