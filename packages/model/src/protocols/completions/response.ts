/** Text completions in the shape of OpenAI's servers, whole or as the chunks of a stream. */
import type { Tokenizer } from '@trinity-rft/chat';
import type { TokenLogprob } from '@trinity-rft/core/internal';
import type { OpenAI } from 'openai';
import type { Generation } from '../../rollout/generate.js';
import { usage } from '../shared/answer/tokens.js';
import type { TextCompletionRequest } from './request.js';

type Completion = OpenAI.Completion;
type Choice = OpenAI.CompletionChoice;

export interface ResponseContext {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  readonly tokenizer: Tokenizer;
  /** Not the whole request: answers are kept for a while. */
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

/** For each choice its text and then its finish reason; then the usage, if requested. */
export function toChunks(generation: Generation, context: ResponseContext): readonly object[] {
  const base = head(context);
  const noUsage = context.request.includeUsage ? { usage: null } : {};
  const chunks = choices(generation, context).flatMap((choice) => [
    {
      ...base,
      ...promptIds(generation, context),
      choices: [{ ...choice, finish_reason: null }],
      ...noUsage,
    },
    {
      ...base,
      choices: [
        { index: choice.index, text: '', logprobs: null, finish_reason: choice.finish_reason },
      ],
      ...noUsage,
    },
  ]);
  return context.request.includeUsage
    ? [...chunks, { ...base, choices: [], usage: usage(generation) }]
    : chunks;
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
        : toLogprobs(sequence.tokens, response.logprobs, sequence.topLogprobs, tokenizer),
    ...(request.returnTokenIds && { token_ids: [...sequence.tokens] }),
  }));
}

/** Offsets count characters; a stop token, and tokens after a stop string, lie beyond the text. */
function toLogprobs(
  tokens: Int32Array,
  logprobs: Float32Array,
  top: readonly (readonly TokenLogprob[])[] | undefined,
  tokenizer: Tokenizer,
): Choice['logprobs'] {
  const texts = Array.from(tokens, (token) => tokenizer.decode([token]));
  let offset = 0;
  return {
    tokens: texts,
    token_logprobs: [...logprobs],
    text_offset: texts.map((text) => (offset += text.length) - text.length),
    top_logprobs: texts.map((_, i) =>
      Object.fromEntries(
        (top?.[i] ?? []).map(({ token, logprob }) => [tokenizer.decode([token]), logprob]),
      ),
    ),
  };
}
