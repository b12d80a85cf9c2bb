/** Writes text completions in OpenAI's format, as a whole or as chunks of a stream. */
import type { Tokenizer } from '@trinity-rft/chat';
import type { SampledSequence } from '@trinity-rft/core/engine';
import type { OpenAI } from 'openai';
import type { Generation } from '../../rollout/generate.js';
import { gained } from '../shared/answer/live-answer.js';
import { usage } from '../shared/answer/tokens.js';
import type { ChunkWriter } from '../shared/completed-call.js';
import type { TextCompletionRequest } from './request.js';

type Completion = OpenAI.Completion;
type Choice = OpenAI.CompletionChoice;

export interface ResponseContext {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  readonly tokenizer: Tokenizer;
  /**
   * Fields of the request that are needed to write responses. Other fields are omitted, because
   * responses are kept in memory for a while.
   */
  readonly request: Pick<TextCompletionRequest, 'logprobs' | 'includeUsage' | 'returnTokenIds'>;
}

export function toCompletion(generation: Generation, context: ResponseContext): Completion {
  return {
    ...head(context),
    choices: choices(generation, context),
    usage: usage(generation),
    ...promptIds(generation, context),
  };
}

/**
 * Creates a writer of chunks. For each choice it writes the text as it grows, and then the finish
 * reason. At the end it writes the usage, if requested. Log-probabilities and token ids are only
 * known when the generation is finished, so they are sent with the rest of the text.
 */
export function chunkWriter(context: ResponseContext): ChunkWriter {
  const { includeUsage, logprobs, returnTokenIds } = context.request;
  const hasDetails = logprobs !== undefined || returnTokenIds;
  const base = head(context);
  const noUsage = includeUsage ? { usage: null } : {};
  const sent: string[] = [];
  const textChunk = (choice: Partial<Choice> & Pick<Choice, 'index' | 'text'>, more = {}) => ({
    ...base,
    ...more,
    choices: [{ logprobs: null, ...choice, finish_reason: null }],
    ...noUsage,
  });
  const gain = (index: number, text: string): string => {
    const added = gained(sent[index] ?? '', text);
    sent[index] = text;
    return added;
  };
  return {
    update: (turns) =>
      turns.flatMap((turn, index) => {
        const text = gain(index, turn?.responseText ?? '');
        return text === '' ? [] : [textChunk({ index, text })];
      }),
    end: (generation) => {
      const chunks = choices(generation, context).flatMap((choice) => {
        const isWhole = sent[choice.index] === undefined;
        const text = gain(choice.index, choice.text);
        const rest = textChunk({ ...choice, text }, promptIds(generation, context));
        const { index, finish_reason } = choice;
        const end = { index, text: '', logprobs: null, finish_reason };
        return [
          ...(isWhole || hasDetails || text !== '' ? [rest] : []),
          { ...base, choices: [end], ...noUsage },
        ];
      });
      return includeUsage
        ? [...chunks, { ...base, choices: [], usage: usage(generation) }]
        : chunks;
    },
  };
}

const head = ({
  id,
  created,
  model,
}: ResponseContext): Pick<Completion, 'id' | 'object' | 'created' | 'model'> => ({
  id,
  object: 'text_completion',
  created,
  model,
});

const promptIds = ({ promptIds: ids }: Generation, { request }: ResponseContext): object =>
  request.returnTokenIds ? { prompt_token_ids: [...ids] } : {};

function choices(generation: Generation, context: ResponseContext): Choice[] {
  const { request, tokenizer } = context;
  return generation.choices.map(({ response, sequence }, index) => ({
    index,
    text: response.responseText,
    finish_reason: response.finishReason === 'length' ? 'length' : 'stop',
    logprobs:
      request.logprobs === undefined
        ? null
        : toLogprobs(
            { ...sequence, logprobs: response.logprobs },
            { tokenizer, top: request.logprobs },
          ),
    ...(request.returnTokenIds && { token_ids: [...sequence.tokens] }),
  }));
}

/**
 * Converts log-probabilities to the format of the API. Offsets are in UTF-16 code units. Stop
 * tokens, and tokens after a stop string, are not part of the text, so their offsets are beyond its
 * end. The alternatives of a token include the token itself.
 */
function toLogprobs(
  {
    tokens,
    logprobs,
    topLogprobs = [],
  }: Pick<SampledSequence, 'tokens' | 'logprobs' | 'topLogprobs'>,
  { tokenizer, top }: { readonly tokenizer: Tokenizer; readonly top: number },
): Choice['logprobs'] {
  const texts = Array.from(tokens, (token) => tokenizer.decode([token]));
  let offset = 0;
  return {
    tokens: texts,
    token_logprobs: [...logprobs],
    text_offset: texts.map((text) => (offset += text.length) - text.length),
    top_logprobs: texts.map((text, i) => ({
      ...Object.fromEntries(
        (topLogprobs[i] ?? [])
          .slice(0, top)
          .map(({ token, logprob }) => [tokenizer.decode([token]), logprob]),
      ),
      [text]: logprobs[i] ?? 0,
    })),
  };
}
