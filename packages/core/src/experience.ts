/** The training record, the alignment rule of its per-token arrays, and functions on records. */
import { emptyEid, uid, type Eid } from './eid.js';
import { InvariantError } from './errors.js';
import type { Metrics } from './metrics.js';

type TruncateStatus = 'prompt_truncated' | 'response_truncated';

/**
 * One model call in an experience that contains several. `start` and `end` are indices of response
 * tokens; `end` is exclusive.
 */
export interface CallSpan {
  readonly start: number;
  readonly end: number;
  /** `eid.step` of the model call. */
  readonly step: number;
  /** Version of the weights that sampled the call. */
  readonly policyVersion: number;
  readonly reward?: number;
}

/**
 * A training record: the tokens that the model saw, and the tokens that it sampled.
 *
 * **Alignment rule.** `tokens` is prompt + response. Every other per-token array is aligned to the
 * response: its length is R = tokens.length - promptLength, and entry i belongs to
 * `tokens[promptLength + i]`.
 */
export interface Experience {
  readonly eid: Eid;
  readonly tokens: Int32Array;
  /** Number of leading tokens that are context; at least 1. */
  readonly promptLength: number;
  /** 1 = sampled by the model and trained on, 0 = context (tool output, template). [R] */
  readonly actionMask: Uint8Array;
  /**
   * Natural-log probability of each response token under the policy that sampled it; 0 where the
   * mask is 0. [R]
   */
  readonly logprobs: Float32Array;
  /**
   * Version of the weights that sampled the response; the oldest version if `spans` has several.
   */
  readonly policyVersion: number;
  /** Sampling temperature at which `logprobs` were computed. */
  readonly temperature: number;
  readonly reward?: number;
  /** Reward per token. Algorithms that read token rewards ignore `reward`. [R] */
  readonly tokenRewards?: Float32Array;
  /** Advantage of each response token. [R] */
  readonly advantages?: Float32Array;
  /** Target of the critic at each response token. [R] */
  readonly returns?: Float32Array;
  /** Log-probability of each response token under a teacher model, for distillation. [R] */
  readonly teacherLogprobs?: Float32Array;
  /**
   * The model calls, if the experience holds several. They are in order and do not overlap, and
   * every trained token belongs to one of them. See `mergeCalls`.
   */
  readonly spans?: readonly CallSpan[];
  readonly truncateStatus?: TruncateStatus;
  readonly promptText?: string;
  readonly responseText?: string;
  /** Metrics of this experience, for the monitor. */
  readonly metrics: Metrics;
  /** Other facts about the experience, as plain JSON values. */
  readonly info: Readonly<Record<string, unknown>>;
}

/** Policy version of an experience whose weights are unknown. */
export const unknownPolicyVersion = -1;
const unknownTemperature = 0;

/** Options of {@link createExperience}. Lists are copied into typed arrays. */
export interface ExperienceInit {
  readonly tokens: ArrayLike<number>;
  readonly promptLength: number;
  /** Log-probabilities of the response tokens. @default zeros, which only fit supervised data */
  readonly logprobs?: ArrayLike<number>;
  /** Mask of the sampled tokens. @default ones: the whole response was sampled */
  readonly actionMask?: ArrayLike<number | boolean>;
  readonly reward?: number;
  readonly eid?: Partial<Eid>;
  /**
   * Version of the weights. @default `unknownPolicyVersion`, which the explorer replaces from the
   * recorded calls
   */
  readonly policyVersion?: number;
  /**
   * Sampling temperature. @default `unknownTemperature`, which the explorer replaces from the
   * recorded calls
   */
  readonly temperature?: number;
  readonly tokenRewards?: ArrayLike<number>;
  readonly teacherLogprobs?: ArrayLike<number>;
  /**
   * Truncation of the prompt or the response. @default `response_truncated` if `finishReason` is
   * `length`
   */
  readonly truncateStatus?: TruncateStatus;
  /** Reason that the model call stopped, as in `ChatResponse`. */
  readonly finishReason?: string;
  readonly promptText?: string;
  readonly responseText?: string;
  readonly metrics?: Metrics;
  readonly info?: Readonly<Record<string, unknown>>;
}

/**
 * Creates an experience with defaults for missing fields, and checks it with `assertAligned`.
 * Unknown fields are dropped, so a `ChatResponse` can be spread into the options.
 * @throws InvariantError naming the experience, the field and the first bad entry
 */
export function createExperience(init: ExperienceInit): Experience {
  const length = Math.max(0, init.tokens.length - init.promptLength);
  const truncateStatus =
    init.truncateStatus ?? (init.finishReason === 'length' ? 'response_truncated' : undefined);
  const eid: Eid = { ...emptyEid, ...init.eid };
  const floats = (field: 'logprobs' | 'tokenRewards' | 'teacherLogprobs') =>
    init[field] &&
    Float32Array.from(init[field], (value: unknown, at) => {
      if (typeof value === 'number') return value;
      const expected = 'expected a finite number';
      throw misaligned(
        { eid },
        field,
        `holds ${shown(value)} at response token ${at}; ${expected}`,
      );
    });
  const experience: Experience = {
    eid,
    tokens: readTokens(init.tokens, (id, at) =>
      misaligned({ eid }, 'tokens', `holds ${shown(id)} at token ${at}; expected ${tokenId}`),
    ),
    promptLength: init.promptLength,
    actionMask: init.actionMask
      ? readMask(init.actionMask, (bit, at) => oddBit({ eid }, bit, at))
      : new Uint8Array(length).fill(1),
    logprobs: floats('logprobs') ?? new Float32Array(length),
    policyVersion: init.policyVersion ?? unknownPolicyVersion,
    temperature: init.temperature ?? unknownTemperature,
    metrics: init.metrics ?? {},
    info: init.info ?? {},
    reward: init.reward,
    tokenRewards: floats('tokenRewards'),
    teacherLogprobs: floats('teacherLogprobs'),
    truncateStatus,
    promptText: init.promptText,
    responseText: init.responseText,
  };
  assertAligned(experience);
  return experience;
}

/** Creates the error for an entry of a list. */
type Refuse = (entry: unknown, at: number) => Error;

const largestTokenId = 2 ** 31 - 1;
const tokenId = `a token id, a whole number from 0 to ${largestTokenId}`;

/**
 * Copies token ids. Refuses values that the conversion to 32-bit integers would change.
 * @throws the error of `refuse` for the first such value
 */
export function readTokens(ids: ArrayLike<number>, refuse: Refuse): Int32Array {
  for (let i = 0; i < ids.length; i++) {
    const id: unknown = ids[i];
    if (!Number.isInteger(id) || (id as number) < 0 || (id as number) > largestTokenId)
      throw refuse(id, i);
  }
  return new Int32Array(ids);
}

/**
 * Copies an action mask. Refuses values other than 0, 1, true and false, which the conversion to
 * bytes would change.
 * @throws the error of `refuse` for the first such value
 */
export function readMask(mask: ArrayLike<number | boolean>, refuse: Refuse): Uint8Array {
  return Uint8Array.from(mask, (bit, at) => {
    if (bit === true || bit === 1) return 1;
    if (bit === false || bit === 0) return 0;
    throw refuse(bit, at);
  });
}

/** Returns R, the number of response tokens. */
export const responseLength = (experience: Experience): number =>
  experience.tokens.length - experience.promptLength;

/** Returns the number of trained tokens (sum of the action mask). */
export function actionCount(experience: Experience): number {
  let count = 0;
  for (const bit of experience.actionMask) count += bit;
  return count;
}

/** Returns a copy with some fields replaced. The copy shares the arrays that are not replaced. */
export function withFields(experience: Experience, fields: Partial<Experience>): Experience {
  return { ...experience, ...fields };
}

const perToken = [
  'actionMask',
  'logprobs',
  'tokenRewards',
  'advantages',
  'returns',
  'teacherLogprobs',
] as const;

/**
 * Checks a record at a package boundary. Array lengths must follow the alignment rule. The reward
 * and per-token numbers must be finite, and `logprobs` at most 0. `spans` must be in order and
 * contain every trained token.
 * @throws InvariantError naming the experience, the field and the first bad entry
 */
export function assertAligned(experience: Experience): void {
  const { tokens, promptLength } = experience;
  if (!Number.isInteger(promptLength) || promptLength < 1 || promptLength >= tokens.length) {
    fail(
      experience,
      'promptLength',
      `is ${promptLength} with ${tokens.length} tokens; expected 1 <= promptLength < tokens.length`,
    );
  }
  const expected = tokens.length - promptLength;
  for (const field of perToken) {
    const values = experience[field];
    if (!values) continue;
    if (values.length !== expected)
      fail(
        experience,
        field,
        `has ${values.length} entries; expected one per response token, ${expected}`,
      );
    const bad = firstBad(values, field === 'logprobs');
    if (bad >= 0)
      fail(
        experience,
        field,
        `holds ${values[bad]} at response token ${bad}; expected a finite ${field === 'logprobs' ? 'number <= 0' : 'number'}`,
      );
  }
  const odd = experience.actionMask.findIndex((bit) => bit > 1);
  if (odd >= 0) throw oddBit(experience, experience.actionMask[odd], odd);
  if (experience.reward !== undefined && !Number.isFinite(experience.reward))
    fail(experience, 'reward', `is ${experience.reward}; expected a finite number`);
  if (experience.spans) assertSpans(experience, experience.spans);
}

function assertSpans(experience: Experience, spans: readonly CallSpan[]): void {
  let [end, inside] = [0, 0];
  for (const span of spans) {
    if (span.start < end || span.end <= span.start || span.end > experience.actionMask.length)
      fail(
        experience,
        'spans',
        `holds [${span.start}, ${span.end}) after ${end}; expected rising spans within the response`,
      );
    end = span.end;
    for (let i = span.start; i < end; i++) inside += experience.actionMask[i]!;
  }
  if (inside !== actionCount(experience))
    fail(
      experience,
      'spans',
      `hold ${inside} of ${actionCount(experience)} trained tokens; expected all`,
    );
}

function firstBad(values: ArrayLike<number>, logprob: boolean): number {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value) || (logprob && value > 0)) return i;
  }
  return -1;
}

const oddBit = (experience: Pick<Experience, 'eid'>, bit: unknown, at: number): InvariantError =>
  misaligned(
    experience,
    'actionMask',
    `holds ${shown(bit)} at response token ${at}; expected 0 or 1`,
  );

const shown = (entry: unknown): string =>
  typeof entry === 'number' ? String(entry) : `a value of type ${typeof entry}`;

function fail(experience: Experience, field: string, what: string): never {
  throw misaligned(experience, field, what);
}

function misaligned({ eid }: Pick<Experience, 'eid'>, field: string, what: string): InvariantError {
  return new InvariantError(`Experience ${uid(eid)}: ${field} ${what}.`, {
    code: 'EXPERIENCE_MISALIGNED',
    details: { uid: uid(eid), field },
  });
}

/**
 * Returns true for a demonstration that the policy did not sample, according to `info.is_expert`.
 * This mark is set where demonstrations are mixed with rollouts.
 */
export const isExpert = ({ info }: Experience): boolean => info['is_expert'] === true;
