/** Encodings that chat completions and text completions share. */
import type { Generation } from '../../rollout/generate.js';
import {
  done,
  jsonEncoding,
  sseEncoding,
  type AnswerEncoding,
  type EventWriter,
  type Turns,
} from './answer/encodings.js';

/**
 * A generation with the data that the two completion routes need to write the response body.
 * @typeParam Context data that the body contains in addition to the generation
 */
export interface CompletedCall<Context> {
  readonly callIndex: number;
  readonly generation: Generation;
  readonly context: Context;
}

/** Returns a function that combines a generation with the given context. */
export const completedBy =
  <Context>(context: Context) =>
  (generation: Generation): CompletedCall<Context> => ({
    callIndex: generation.callIndex,
    generation,
    context,
  });

export interface CompletionEncodings<Context> {
  readonly json: AnswerEncoding<CompletedCall<Context>, Context>;
  readonly sse: AnswerEncoding<CompletedCall<Context>, Context>;
}

/** Writes the chunks of one response for one client. */
export interface ChunkWriter {
  /** Returns chunks for the additions to the turns since the last call. */
  update(turns: Turns): readonly object[];
  /**
   * Returns the chunks for what has not been sent yet. If {@link update} was never called, this is
   * the whole response.
   */
  end(generation: Generation): readonly object[];
}

/** Creates the encodings of a completion: JSON, and a stream of chunks followed by `[DONE]`. */
export const completionEncodings = <Context>(
  toCompletion: (generation: Generation, context: Context) => object,
  chunkWriter: (context: Context) => ChunkWriter,
): CompletionEncodings<Context> => ({
  json: jsonEncoding(({ generation, context }) => toCompletion(generation, context)),
  sse: sseEncoding({
    headOf: ({ context }) => context,
    writer: (context): EventWriter<CompletedCall<Context>> => {
      const chunks = chunkWriter(context);
      return {
        update: (turns) => chunks.update(turns).map((data) => ({ data })),
        end: ({ generation }) => [...chunks.end(generation).map((data) => ({ data })), done],
      };
    },
  }),
});
