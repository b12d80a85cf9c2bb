/** The two ways answers are written: a JSON document, or server-sent events. */
import type { Form } from './deliver.js';
import { errorBody } from './errors.js';

/** White space before a JSON document is part of it. */
export function jsonForm<T>(document: (answer: T) => object): Form<T> {
  return {
    contentType: 'application/json',
    heartbeat: '\n',
    pieces: (answer) => [JSON.stringify(document(answer))],
    failure: (error) => JSON.stringify(errorBody(error)),
  };
}

export interface ServerEvent {
  readonly event?: string;
  readonly data: object | string;
}

/**
 * @param failure the events that tell of an error.
 * @default an `error` event with OpenAI's error body, then `[DONE]`
 */
export function eventForm<T>(
  events: (answer: T) => readonly ServerEvent[],
  failure = errorEvents,
): Form<T> {
  return {
    contentType: 'text/event-stream; charset=utf-8',
    heartbeat: ': keepalive\n\n',
    pieces: (answer) => inTwo(events(answer).map(write)),
    failure: (error) => failure(error).map(write).join(''),
  };
}

/** The last event apart: whoever comes for it has taken the others. */
function inTwo(events: readonly string[]): readonly string[] {
  return events.length > 1 ? [events.slice(0, -1).join(''), events.at(-1)!] : events;
}

/** What ends a stream of chat completions. */
export const done: ServerEvent = { data: '[DONE]' };

const errorEvents = (error: unknown): readonly ServerEvent[] => [
  { event: 'error', data: errorBody(error) },
  done,
];

function write({ event, data }: ServerEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`;
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}
