/** Sampling settings of a client's request. */
import type { CallSampling } from '../../../rollout/sampling.js';
import { integer, isPresent, number, type JsonObject } from './fields.js';

export interface RequestedSampling {
  /** What the client asks for, under our names. */
  readonly sampling: Pick<CallSampling, 'temperature' | 'topP' | 'topK' | 'seed'>;
  /** Names of all sampling settings in the request. */
  readonly samplingFields: readonly string[];
}

/** OpenAI's own limits. */
export const maxChoices = 128;
export const maxTopLogprobs = 20;

/** @throws ModelError 400 */
export function readSampling(body: JsonObject): RequestedSampling {
  return {
    sampling: {
      temperature: number(body, 'temperature'),
      topP: number(body, 'top_p'),
      topK: number(body, 'top_k'),
      seed: readSeed(body),
    },
    samplingFields: samplingFields.filter((name) => isPresent(body[name])),
  };
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

/** Clients may send 64 bits, samplers take 32. */
function readSeed(body: JsonObject): number | undefined {
  const seed = integer(body, 'seed', -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  return seed === undefined ? undefined : Number(BigInt.asUintN(32, BigInt(seed)));
}
