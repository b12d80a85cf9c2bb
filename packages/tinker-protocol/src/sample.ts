/** The result of `/api/v1/asample`. */
import { messageCodec } from './schema.js';
import { floatBytes, int32Bytes, readFloats, readInt32s } from './tensors.js';

export interface SampledTokens {
  readonly stopReason: 'stop' | 'length';
  readonly tokens: Int32Array;
  readonly logprobs?: Float32Array;
}

export interface SampleResult {
  readonly sequences: readonly SampledTokens[];
  /**
   * Of the prompt: one per token, the first NaN (hosted), or one fewer (SkyRL 0.4). Use
   * {@link alignPromptLogprobs}.
   */
  readonly promptLogprobs?: Float32Array;
}

interface SequenceMessage {
  readonly stop_reason?: number;
  readonly tokens?: Uint8Array;
  readonly logprobs?: Uint8Array;
}

interface ResponseMessage {
  readonly sequences: readonly SequenceMessage[];
  readonly prompt_logprobs?: Uint8Array;
}

const responses = messageCodec<ResponseMessage>('SampleResponse');

/** The bytes of a result. */
export function encodeSampleResult({ sequences, promptLogprobs }: SampleResult): Uint8Array {
  const message: ResponseMessage = { sequences: sequences.map(sequenceMessage) };
  if (promptLogprobs === undefined) return responses.encode(message);
  return responses.encode({ ...message, prompt_logprobs: floatBytes(promptLogprobs) });
}

function sequenceMessage({ stopReason, tokens, logprobs }: SampledTokens): SequenceMessage {
  const message: { -readonly [K in keyof SequenceMessage]: SequenceMessage[K] } = {};
  if (stopReason === 'length') message.stop_reason = 1;
  message.tokens = int32Bytes(tokens);
  if (logprobs !== undefined) message.logprobs = floatBytes(logprobs);
  return message;
}

/** @throws Error when the bytes are no such result */
export function decodeSampleResult(bytes: Uint8Array): SampleResult {
  const message = responses.decode(bytes);
  return {
    sequences: message.sequences.map(({ stop_reason: reason, tokens, logprobs }) => ({
      stopReason: reason === 1 ? 'length' : 'stop',
      tokens: readInt32s(tokens ?? new Uint8Array()),
      logprobs: logprobs && readFloats(logprobs),
    })),
    promptLogprobs: message.prompt_logprobs && readFloats(message.prompt_logprobs),
  };
}

/**
 * One log-probability per prompt token after the first.
 * @throws RangeError when the result has another number of them
 */
export function alignPromptLogprobs(logprobs: Float32Array, promptLength: number): Float32Array {
  if (logprobs.length === promptLength - 1) return logprobs;
  if (logprobs.length === promptLength) return logprobs.subarray(1);
  throw new RangeError(
    `There are ${logprobs.length} log-probabilities of a prompt of ${promptLength} tokens.`,
  );
}
