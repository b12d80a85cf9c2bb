/** A finished response as the events of a stream. */
import type { OpenAI } from 'openai';
import type { ServerEvent } from '../shared/answer/encodings.js';
import { errorBody } from '../shared/answer/error-response.js';
import type { OutputItem, ResponseBody } from './response.js';

type Event = OpenAI.Responses.ResponseStreamEvent;
type Unnumbered<E> = E extends unknown ? Omit<E, 'sequence_number'> : never;
type Step = Unnumbered<Event>;

/** In the order of OpenAI's servers; every text is one delta. */
export function toEvents(response: ResponseBody): readonly Event[] {
  const inProgress = {
    ...response,
    status: 'in_progress' as const,
    completed_at: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  const [created, ended] = [inProgress, response] as unknown as readonly [
    OpenAI.Responses.Response,
    OpenAI.Responses.Response,
  ];
  const steps: readonly Step[] = [
    { type: 'response.created', response: created },
    { type: 'response.in_progress', response: created },
    ...response.output.flatMap(itemSteps),
    {
      type: response.status === 'incomplete' ? 'response.incomplete' : 'response.completed',
      response: ended,
    },
  ];
  return steps.map((step, sequence_number) => ({ ...step, sequence_number }) as Event);
}

function itemSteps(item: OutputItem, output_index: number): readonly Step[] {
  return [
    { type: 'response.output_item.added', output_index, item: emptied(item) },
    ...innerSteps(item, { output_index, item_id: item.id ?? '' }),
    { type: 'response.output_item.done', output_index, item },
  ];
}

/** The item before its contents. */
function emptied(item: OutputItem): OutputItem {
  const status = 'in_progress' as const;
  if (item.type === 'message') return { ...item, status, content: [] };
  if (item.type === 'function_call') return { ...item, status, arguments: '' };
  return { ...item, status, summary: [], content: [] };
}

interface Place {
  readonly output_index: number;
  readonly item_id: string;
}

function innerSteps(item: OutputItem, place: Place): readonly Step[] {
  if (item.type === 'message')
    return item.content.flatMap((part, i) =>
      part.type === 'output_text' ? textSteps(part, i, place) : [],
    );
  if (item.type === 'function_call') return callSteps(item, place);
  return [
    ...item.summary.flatMap((part, i) => summarySteps(part, i, place)),
    ...(item.content ?? []).flatMap((part, i) => reasoningSteps(part, i, place)),
  ];
}

function textSteps(
  part: OpenAI.Responses.ResponseOutputText,
  content_index: number,
  place: Place,
): readonly Step[] {
  const at = { ...place, content_index };
  const { text, logprobs = [] } = part;
  return [
    { type: 'response.content_part.added', ...at, part: { ...part, text: '', logprobs: [] } },
    ...(text === ''
      ? []
      : [{ type: 'response.output_text.delta' as const, ...at, delta: text, logprobs }]),
    { type: 'response.output_text.done', ...at, text, logprobs },
    { type: 'response.content_part.done', ...at, part },
  ];
}

function callSteps(
  { name, arguments: args }: OpenAI.Responses.ResponseFunctionToolCall,
  place: Place,
): readonly Step[] {
  return [
    { type: 'response.function_call_arguments.delta', ...place, delta: args },
    // Older clients expect the name here as well.
    { type: 'response.function_call_arguments.done', ...place, ...{ name }, arguments: args },
  ];
}

function summarySteps(
  part: OpenAI.Responses.ResponseReasoningItem.Summary,
  summary_index: number,
  place: Place,
): readonly Step[] {
  const at = { ...place, summary_index };
  const { text } = part;
  return [
    { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.reasoning_summary_text.delta', ...at, delta: text },
    { type: 'response.reasoning_summary_text.done', ...at, text },
    { type: 'response.reasoning_summary_part.done', ...at, part },
  ];
}

function reasoningSteps(
  part: OpenAI.Responses.ResponseReasoningItem.Content,
  content_index: number,
  place: Place,
): readonly Step[] {
  const at = { ...place, content_index };
  const { text } = part;
  return [
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.reasoning_text.delta', ...at, delta: text },
    { type: 'response.reasoning_text.done', ...at, text },
    { type: 'response.content_part.done', ...at, part },
  ];
}

/**
 * An error after the stream has begun, in both shapes that clients know: fields at the top level,
 * and the same under `error`.
 */
export function failureEvents(error: unknown): readonly ServerEvent[] {
  const body = errorBody(error);
  const { code, message, param } = body.error;
  return [
    { event: 'error', data: { type: 'error', sequence_number: 0, code, message, param, ...body } },
  ];
}
