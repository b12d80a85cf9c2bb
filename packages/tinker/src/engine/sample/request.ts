/** Sends one sampling request and validates its response. */
import type { SamplingOptions } from '@trinity-rft/core/engine';
import {
  alignPromptLogprobs,
  decodeSampleResult,
  type JsonRequest,
  type SampledTokens,
  type SampleResult,
} from '../../protocol/index.js';
import { unreadable, type Calls } from '../remote/calls.js';
import type { SamplingHandle } from './handle.js';

type Params = JsonRequest<'asample'>['sampling_params'];

export interface SampleRequest {
  readonly prompt: Int32Array;
  readonly count: number;
  readonly params: Params & { readonly max_tokens: number };
  readonly promptLogprobs?: boolean;
}

export interface SampleAnswer {
  readonly sequences: readonly Required<Omit<SampledTokens, 'topLogprobs'>>[];
  /** Log-probabilities of all prompt tokens except the first. Empty if they were not requested. */
  readonly promptLogprobs: Float32Array;
}

const what = 'sample';

export function requestSamples(
  calls: Calls,
  handle: SamplingHandle,
  request: SampleRequest,
  signal?: AbortSignal,
): Promise<SampleAnswer> {
  return handle.use(async () => {
    const { prompt, count, params, promptLogprobs = false } = request;
    // No wait is logged: long samples are usual, and heartbeats report a server that is down.
    const options = { what, signal, wait: { problem: undefined, end: () => undefined } };
    const requestId = await calls.submit(
      'asample',
      {
        num_samples: count,
        prompt: { chunks: [{ type: 'encoded_text', tokens: [...prompt] }] },
        sampling_params: params,
        sampling_session_id: handle.sessionId,
        seq_id: handle.nextSequence(),
        prompt_logprobs: promptLogprobs,
      },
      options,
    );
    return readAnswer(await calls.bytes(requestId, options), request);
  });
}

function readAnswer(bytes: Uint8Array, request: SampleRequest): SampleAnswer {
  let result: SampleResult;
  try {
    result = decodeSampleResult(bytes);
  } catch (error) {
    throw unreadable(what, (error as Error).message);
  }
  const { sequences, promptLogprobs } = result;
  if (sequences.length !== request.count)
    throw unreadable(what, `${sequences.length} samples, expected ${request.count}`);
  return {
    sequences: sequences.map((sequence, i) => checkSequence(sequence, i, request)),
    promptLogprobs: request.promptLogprobs
      ? promptLogprobsOf(promptLogprobs, request.prompt.length)
      : new Float32Array(),
  };
}

function checkSequence(
  { tokens, logprobs, stopReason }: SampledTokens,
  index: number,
  { params }: SampleRequest,
): Required<Omit<SampledTokens, 'topLogprobs'>> {
  const place = `sample ${index}`;
  if (logprobs?.length !== tokens.length)
    throw unreadable(
      what,
      `${place} has ${tokens.length} tokens and ${logprobs?.length ?? 'no'} log-probabilities`,
    );
  if (tokens.length > params.max_tokens)
    throw unreadable(
      what,
      `${place} has ${tokens.length} tokens, more than the ${params.max_tokens} asked for`,
    );
  const bad = logprobs.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0)
    throw unreadable(what, `${place} has the log-probability ${logprobs[bad]} at token ${bad}`);
  return { tokens, logprobs, stopReason };
}

function promptLogprobsOf(values: Float32Array | undefined, length: number): Float32Array {
  if (values === undefined) throw unreadable(what, 'no log-probabilities of the prompt');
  let aligned: Float32Array;
  try {
    aligned = alignPromptLogprobs(values, length);
  } catch (error) {
    throw unreadable(what, (error as Error).message);
  }
  const bad = aligned.findIndex((value) => !Number.isFinite(value));
  if (bad < 0) return aligned;
  throw unreadable(what, `the log-probability ${aligned[bad]} at token ${bad + 1} of the prompt`);
}

export const greedyParams = { max_tokens: 1, temperature: 0, seed: 0 } as const;

export const paramsOf = (
  { temperature = 1, topP = 1, topK = -1, seed, stopTokenIds = [] }: SamplingOptions,
  maxTokens: number,
): SampleRequest['params'] => ({
  max_tokens: maxTokens,
  temperature,
  top_p: topP,
  top_k: topK,
  // Some servers only accept a signed 32-bit seed.
  seed: seed & 0x7fffffff,
  stop: stopTokenIds.length === 0 ? undefined : [...stopTokenIds],
});
