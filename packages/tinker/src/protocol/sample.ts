/** Encodes and decodes the result of `/api/v1/asample`. */
import { messageCodec } from './schema.js';
import { floatBytes, int32Bytes, readFloats, readInt32s } from './tensors.js';

/** Most likely tokens at a position, in descending order of probability. */
export type TopTokens = readonly { readonly token: number; readonly logprob: number }[];

export interface SampledTokens {
  readonly stopReason: 'stop' | 'length';
  readonly tokens: Int32Array;
  readonly logprobs?: Float32Array;
  /** Most likely tokens at the position of each sampled token, in order. */
  readonly topLogprobs?: readonly TopTokens[];
}

export interface SampleResult {
  readonly sequences: readonly SampledTokens[];
  /**
   * Log-probabilities of the prompt tokens. Hosted servers send one per token, with NaN for the
   * first; SkyRL 0.4 omits the first. {@link alignPromptLogprobs} handles both.
   */
  readonly promptLogprobs?: Float32Array;
  /**
   * Most likely tokens at the position of each prompt token; undefined for the first token, which
   * has no predecessor.
   */
  readonly topPromptLogprobs?: readonly (TopTokens | undefined)[];
}

interface TopMessage {
  readonly token_ids?: Uint8Array;
  readonly logprobs?: Uint8Array;
  readonly k?: number;
  readonly length?: number;
}

interface SequenceMessage {
  readonly stop_reason?: number;
  readonly tokens?: Uint8Array;
  readonly logprobs?: Uint8Array;
  readonly topk_sampled_logprobs?: TopMessage;
}

interface ResponseMessage {
  readonly sequences: readonly SequenceMessage[];
  readonly prompt_logprobs?: Uint8Array;
  readonly topk_prompt_logprobs?: TopMessage;
}

const responses = messageCodec<ResponseMessage>('SampleResponse');

/** Encodes the result of a sampling call. */
export function encodeSampleResult(result: SampleResult): Uint8Array {
  const { sequences, promptLogprobs, topPromptLogprobs: top } = result;
  const message: { -readonly [K in keyof ResponseMessage]: ResponseMessage[K] } = {
    sequences: sequences.map(sequenceMessage),
  };
  if (promptLogprobs !== undefined) message.prompt_logprobs = floatBytes(promptLogprobs);
  if (top !== undefined) message.topk_prompt_logprobs = topMessage(top);
  return responses.encode(message);
}

function sequenceMessage({
  stopReason,
  tokens,
  logprobs,
  topLogprobs: top,
}: SampledTokens): SequenceMessage {
  const message: { -readonly [K in keyof SequenceMessage]: SequenceMessage[K] } = {};
  if (stopReason === 'length') message.stop_reason = 1;
  message.tokens = int32Bytes(tokens);
  if (logprobs !== undefined) message.logprobs = floatBytes(logprobs);
  if (top !== undefined) message.topk_sampled_logprobs = topMessage(top);
  return message;
}

/** Values that fill the rows of positions with fewer tokens than the longest row. */
const [noToken, noLogprob] = [0, -99_999];

/**
 * Encodes lists of tokens as two matrices (ids and log-probabilities) with one row per position.
 */
function topMessage(top: readonly (TopTokens | undefined)[]): TopMessage {
  const k = top.reduce((most, row) => Math.max(most, row?.length ?? 0), 1);
  const cells = top.flatMap((row) => Array.from({ length: k }, (_, i) => row?.[i]));
  return {
    token_ids: int32Bytes(Int32Array.from(cells, (cell) => cell?.token ?? noToken)),
    logprobs: floatBytes(Float32Array.from(cells, (cell) => cell?.logprob ?? noLogprob)),
    k,
    length: top.length,
  };
}

/**
 * Decodes the protobuf result of a sampling call.
 * @throws Error if the bytes are malformed
 */
export function decodeSampleResult(bytes: Uint8Array): SampleResult {
  const message = responses.decode(bytes);
  return {
    sequences: message.sequences.map((sequence) => ({
      stopReason: sequence.stop_reason === 1 ? 'length' : 'stop',
      tokens: readInt32s(sequence.tokens ?? new Uint8Array()),
      logprobs: sequence.logprobs && readFloats(sequence.logprobs),
      topLogprobs: topOf(sequence.topk_sampled_logprobs)?.map((row) => row ?? []),
    })),
    promptLogprobs: message.prompt_logprobs && readFloats(message.prompt_logprobs),
    topPromptLogprobs: topOf(message.topk_prompt_logprobs),
  };
}

function topOf(message: TopMessage | undefined): readonly (TopTokens | undefined)[] | undefined {
  const { token_ids: ids, logprobs: values, k = 0, length = 0 } = message ?? {};
  if (ids === undefined || values === undefined) return undefined;
  const [tokens, logprobs] = [readInt32s(ids), readFloats(values)];
  return Array.from({ length }, (_, row) => {
    const cells = Array.from({ length: k }, (_cell, i) => ({
      token: tokens[row * k + i] ?? noToken,
      logprob: logprobs[row * k + i] ?? noLogprob,
    }));
    const found = cells.filter(({ logprob }) => logprob !== noLogprob);
    return found.length === 0 ? undefined : found;
  });
}

/**
 * Returns one log-probability per prompt token after the first, from either layout of
 * `promptLogprobs`.
 * @throws RangeError if the number of log-probabilities does not fit the prompt
 */
export function alignPromptLogprobs(logprobs: Float32Array, promptLength: number): Float32Array {
  if (logprobs.length === promptLength - 1) return logprobs;
  if (logprobs.length === promptLength) return logprobs.subarray(1);
  throw new RangeError(
    `There are ${logprobs.length} log-probabilities of a prompt of ${promptLength} tokens.`,
  );
}
