/** Reads the sampling settings of a client's request. */
import type { CallSampling } from '../../../rollout/sampling.js';
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import { integer, isPresent, number, type JsonObject } from './fields.js';

export interface RequestedSampling {
  /** Sampling options that the request sets, under the names that this package uses. */
  readonly sampling: Pick<CallSampling, 'temperature' | 'topP' | 'topK' | 'seed'>;
  /** Names of the sampling settings that the request contains. */
  readonly samplingFields: readonly string[];
}

/** OpenAI's upper limits: for the number of choices, and for the alternatives per token. */
export const maxChoices = 128;
export const maxTopLogprobs = 20;

/**
 * Reads the sampling settings.
 * @throws ModelError 400 naming the field that is invalid
 */
export function readSampling(body: JsonObject): RequestedSampling {
  return {
    sampling: {
      temperature: within(body, 'temperature', [0, Number.MAX_VALUE]),
      ...readCuts(body),
      seed: readSeed(body),
    },
    samplingFields: samplingFields.filter((name) => isPresent(body[name])),
  };
}

/**
 * Reads the number of alternatives per token. Returns 0 if the field is absent.
 * @param request true if the request asks for log-probabilities, and the field with which it can do
 * so
 * @throws ModelError 400 with `isExternal`, if log-probabilities are requested; with
 * `strictFields`, if alternatives are requested without log-probabilities
 */
export function readTopLogprobs(
  body: JsonObject,
  [hasLogprobs, field]: readonly [boolean, string],
  {
    strictFields = false,
    isExternal = false,
  }: { readonly strictFields?: boolean; readonly isExternal?: boolean },
): number {
  if (isExternal && hasLogprobs)
    throw invalidRequest(
      field.split(':', 1)[0]!,
      'asks for log-probabilities, which the model behind an API does not give',
      `a request without ${field}`,
      { code: 'not_available' },
    );
  const top = integer(body, 'top_logprobs', 0, maxTopLogprobs) ?? 0;
  if (strictFields && top > 0 && !hasLogprobs)
    throw invalidRequest('top_logprobs', `is ${top} without log-probabilities`, field);
  return top;
}

function within(
  body: JsonObject,
  field: string,
  [least, most]: readonly [number, number],
): number | undefined {
  const value = number(body, field);
  if (value === undefined || (value >= least && value <= most)) return value;
  const range = most < Number.MAX_VALUE ? `from ${least} to ${most}` : `of at least ${least}`;
  throw invalidRequest(field, `is ${quote(value)}`, `a number ${range}`);
}

/**
 * Reads `top_p` and `top_k`. `top_p: 0` keeps only the most likely token. `top_k: 0` and
 * `top_k: -1` keep all tokens.
 */
function readCuts(body: JsonObject): Pick<CallSampling, 'topP' | 'topK'> {
  const topP = within(body, 'top_p', [0, 1]);
  const topK = integer(body, 'top_k', -1);
  if (topP === 0) return { topK: 1 };
  return { topP, topK: topK === 0 ? -1 : topK };
}

const samplingFields = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'logit_bias',
];

/**
 * Returns the lower 32 bits of a seed, because samplers use 32-bit seeds. Accepts any safe integer.
 */
function readSeed(body: JsonObject): number | undefined {
  const seed = integer(body, 'seed', -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  return seed === undefined ? undefined : Number(BigInt.asUintN(32, BigInt(seed)));
}
