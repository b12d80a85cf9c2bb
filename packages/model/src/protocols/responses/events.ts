/** Writes a response as stream events of the Responses API. */
import { errorBody } from '@trinity-rft/http-server';
import type { OpenAI } from 'openai';
import type { TurnSoFar } from '../../rollout/generate.js';
import type { EventWriter, ServerEvent } from '../shared/answer/encodings.js';
import { gained } from '../shared/answer/live-answer.js';
import {
  itemIdOf,
  messageItem,
  reasoningItem,
  type OutputItem,
  type ResponseBody,
} from './response.js';

type Event = OpenAI.Responses.ResponseStreamEvent;
type Unnumbered<E> = E extends unknown ? Omit<E, 'sequence_number'> : never;
type Step = Unnumbered<Event>;
type CallItem = OpenAI.Responses.ResponseFunctionToolCall;
/** Output items whose text is streamed: all except tool calls. */
type TextItem = Exclude<OutputItem, CallItem>;

/** Fields of a response that are known before its first token. */
export interface ResponseHead {
  /** The response, without output. */
  readonly response: ResponseBody;
  /** True if reasoning items have `encrypted_content`. */
  readonly sealReasoning: boolean;
  /**
   * For each text delta so far, the position at which it ended. The list grows during the
   * generation.
   */
  readonly deltaEnds: readonly DeltaEnd[];
}

/**
 * Lengths that the reasoning and response texts have after a delta. All streams of a response split
 * the texts at the same positions, so that an event has the same sequence number in each stream.
 */
export interface DeltaEnd {
  readonly reasoning: number;
  readonly response: number;
}

export const deltaEndOf = ({ reasoningText = '', responseText }: TurnSoFar): DeltaEnd => ({
  reasoning: reasoningText.length,
  response: responseText.length,
});

/** A response that is complete. */
export interface FinishedResponse {
  readonly body: ResponseBody;
  readonly deltaEnds: readonly DeltaEnd[];
}

/** Returns the state that a finished response had before its first token. */
export function headOf({ body, deltaEnds }: FinishedResponse): ResponseHead {
  const { completed_at: _, usage: __, ...rest } = body;
  const beginning = { status: 'in_progress', incomplete_details: null, output: [] } as const;
  const sealReasoning = body.output.some((item) => 'encrypted_content' in item);
  return { response: { ...rest, ...beginning }, sealReasoning, deltaEnds };
}

interface SentItem {
  readonly place: Place;
  text: string;
  closed: boolean;
}

interface Place {
  readonly output_index: number;
  readonly item_id: string;
}

/**
 * Creates a writer of stream events. Reasoning and text are sent as deltas. Tool calls are sent at
 * the end of the response, each as a whole.
 */
export function eventWriter({
  response,
  sealReasoning,
  deltaEnds,
}: ResponseHead): EventWriter<FinishedResponse> {
  const sent = new Map<string, SentItem>();
  let events = 0;
  let items = 0;
  let ends = 0;
  const numbered = (steps: readonly Step[]): readonly ServerEvent[] =>
    steps.map((step) => ({ event: step.type, data: { ...step, sequence_number: events++ } }));
  const newPlace = (id: string): Place => ({ output_index: items++, item_id: id });
  const grow = (item: TextItem): readonly Step[] => {
    const id = item.id ?? '';
    const known = sent.get(id);
    const { place, text } = known ?? { place: newPlace(id), text: '' };
    sent.set(id, { place, text: textOf(item), closed: false });
    const delta = gained(text, textOf(item));
    return [
      ...(known ? [] : opening(item, place)),
      ...(delta === '' ? [] : deltas(item, delta, place)),
    ];
  };
  const finish = (item: TextItem): readonly Step[] => {
    if (sent.get(item.id ?? '')?.closed) return [];
    const last = grow(item);
    const entry = sent.get(item.id ?? '');
    if (!entry) return last;
    entry.closed = true;
    return [...last, ...closing(item, entry.place)];
  };
  const beginning = (): readonly Step[] =>
    events > 0
      ? []
      : [
          { type: 'response.created', response: asWire(response) },
          { type: 'response.in_progress', response: asWire(response) },
        ];
  const { id } = response;
  const textSteps = (reasoningText: string, responseText: string): readonly Step[] => {
    const hasText = responseText !== '';
    const reasoning = reasoningItem(itemIdOf(id, 'rs'), reasoningText, sealReasoning);
    const message = messageItem(itemIdOf(id, 'msg'), responseText, 'in_progress');
    return [
      ...(reasoningText === '' ? [] : hasText ? finish(reasoning) : grow(reasoning)),
      ...(hasText ? grow(message) : []),
    ];
  };
  /** Returns the stream events for the deltas that were added since the last call. */
  const newDeltas = (reasoningText: string, responseText: string): readonly Step[] => {
    const known = deltaEnds.slice(ends);
    ends = deltaEnds.length;
    return known.flatMap((end) =>
      textSteps(reasoningText.slice(0, end.reasoning), responseText.slice(0, end.response)),
    );
  };
  const textIn = (type: TextItem['type'], { output }: ResponseBody): string => {
    const found = output.find((item) => item.type === type);
    return found && found.type !== 'function_call' ? textOf(found) : '';
  };
  return {
    update: ([turn]) => {
      const steps = newDeltas(turn?.reasoningText ?? '', turn?.responseText ?? '');
      return steps.length === 0 ? [] : numbered([...beginning(), ...steps]);
    },
    end: ({ body }) =>
      numbered([
        ...beginning(),
        ...newDeltas(textIn('reasoning', body), textIn('message', body)),
        ...body.output.flatMap((item) =>
          item.type === 'function_call' ? callSteps(item, newPlace(item.id ?? '')) : finish(item),
        ),
        {
          type: body.status === 'incomplete' ? 'response.incomplete' : 'response.completed',
          response: asWire(body),
        },
      ]),
  };
}

/**
 * Returns the response with `completed_at` and `usage` set to null if they are absent. The cast is
 * needed because the type in the openai package requires `output_text`, which the package's client
 * adds itself.
 */
const asWire = (response: ResponseBody): OpenAI.Responses.Response =>
  ({ completed_at: null, usage: null, ...response }) as unknown as OpenAI.Responses.Response;

function textOf(item: TextItem): string {
  const [part] = item.type === 'message' ? item.content : (item.content ?? []);
  return part && 'text' in part ? part.text : '';
}

function opening(item: TextItem, place: Place): readonly Step[] {
  const added: Step = {
    type: 'response.output_item.added',
    output_index: place.output_index,
    item: emptied(item),
  };
  const at = { ...place, content_index: 0 };
  if (item.type === 'message')
    return [added, { type: 'response.content_part.added', ...at, part: textPart('') }];
  return [
    added,
    {
      type: 'response.reasoning_summary_part.added',
      ...place,
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    },
    { type: 'response.content_part.added', ...at, part: { type: 'reasoning_text', text: '' } },
  ];
}

/** Returns a copy of an item without its content, for the event that announces the item. */
function emptied(item: OutputItem): OutputItem {
  const status = 'in_progress' as const;
  if (item.type === 'message') return { ...item, status, content: [] };
  if (item.type === 'function_call') return { ...item, status, arguments: '' };
  return { ...item, status, summary: [], content: [] };
}

type TextPart = OpenAI.Responses.ResponseOutputText;

const textPart = (text: string): TextPart => ({
  type: 'output_text',
  text,
  annotations: [],
  logprobs: [],
});

const logprobsOf = ({ content: [part] }: OpenAI.Responses.ResponseOutputMessage) =>
  part?.type === 'output_text' ? (part.logprobs ?? []) : [];

function deltas(item: TextItem, delta: string, place: Place): readonly Step[] {
  const at = { ...place, content_index: 0 };
  if (item.type === 'message')
    return [{ type: 'response.output_text.delta', ...at, delta, logprobs: logprobsOf(item) }];
  return [
    { type: 'response.reasoning_summary_text.delta', ...place, summary_index: 0, delta },
    { type: 'response.reasoning_text.delta', ...at, delta },
  ];
}

function closing(item: TextItem, place: Place): readonly Step[] {
  const text = textOf(item);
  const at = { ...place, content_index: 0 };
  const done: Step = {
    type: 'response.output_item.done',
    output_index: place.output_index,
    item,
  };
  if (item.type === 'message') {
    const logprobs = logprobsOf(item);
    const part = { ...textPart(text), logprobs };
    return [
      { type: 'response.output_text.done', ...at, text, logprobs },
      { type: 'response.content_part.done', ...at, part },
      done,
    ];
  }
  const summary = { ...place, summary_index: 0 };
  return [
    { type: 'response.reasoning_summary_text.done', ...summary, text },
    {
      type: 'response.reasoning_summary_part.done',
      ...summary,
      part: { type: 'summary_text', text },
    },
    { type: 'response.reasoning_text.done', ...at, text },
    { type: 'response.content_part.done', ...at, part: { type: 'reasoning_text', text } },
    done,
  ];
}

function callSteps(item: CallItem, place: Place): readonly Step[] {
  const { name, arguments: args } = item;
  const { output_index } = place;
  return [
    { type: 'response.output_item.added', output_index, item: emptied(item) },
    { type: 'response.function_call_arguments.delta', ...place, delta: args },
    // Older clients expect the name in this event as well.
    { type: 'response.function_call_arguments.done', ...place, ...{ name }, arguments: args },
    { type: 'response.output_item.done', output_index, item },
  ];
}

/**
 * Returns the events to send for an error that occurs after the stream has begun. The event
 * contains the error twice, because clients read one of two formats: fields at the top level, or
 * the same fields under `error`.
 */
export function failureEvents(error: unknown): readonly ServerEvent[] {
  const body = errorBody(error);
  const { code, message, param } = body.error;
  return [
    { event: 'error', data: { type: 'error', sequence_number: 0, code, message, param, ...body } },
  ];
}
