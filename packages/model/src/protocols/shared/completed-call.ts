/** What chat completions and text completions have in common: how a finished call is written. */
import type { Generation } from '../../rollout/generate.js';
import { done, jsonEncoding, sseEncoding, type AnswerEncoding } from './answer/encodings.js';

/**
 * A generation with what its response body needs, for the two completion routes.
 * @typeParam Context what an answer contains in addition to the generation
 */
export interface CompletedCall<Context> {
  readonly callIndex: number;
  readonly generation: Generation;
  readonly context: Context;
}

export interface CompletionEncodings<Context> {
  readonly json: AnswerEncoding<CompletedCall<Context>>;
  readonly sse: AnswerEncoding<CompletedCall<Context>>;
}

/** The chunks of a stream are followed by `[DONE]`. */
export const completionEncodings = <Context>(
  toCompletion: (generation: Generation, context: Context) => object,
  toChunks: (generation: Generation, context: Context) => readonly object[],
): CompletionEncodings<Context> => ({
  json: jsonEncoding(({ generation, context }) => toCompletion(generation, context)),
  sse: sseEncoding(({ generation, context }) => [
    ...toChunks(generation, context).map((data) => ({ data })),
    done,
  ]),
});
