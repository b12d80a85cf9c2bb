/** The two ways to write an answer: a JSON document, or server-sent events (SSE). */
import { errorBody } from './error-response.js';

/** How a finished answer is written. */
export interface AnswerEncoding<T> {
  readonly contentType: string;
  /** Ignored by clients. */
  readonly heartbeat: string;
  /** At least one; when a client has read the last one, it has the whole answer. */
  readonly pieces: (answer: T) => readonly string[];
  /** An error after headers with status 200 have been sent. */
  readonly failure: (error: unknown) => string;
}

/** The heartbeat is white space, which JSON allows before a document. */
export function jsonEncoding<T>(document: (answer: T) => object): AnswerEncoding<T> {
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
 * @param failure the events for an error
 * @default an `error` event with OpenAI's error body, then `[DONE]`
 */
export function sseEncoding<T>(
  events: (answer: T) => readonly ServerEvent[],
  failure = errorEvents,
): AnswerEncoding<T> {
  return {
    contentType: 'text/event-stream; charset=utf-8',
    heartbeat: ': keepalive\n\n',
    pieces: (answer) => splitLast(events(answer).map(write)),
    failure: (error) => failure(error).map(write).join(''),
  };
}

/** The last event alone: a client that reads it has received the others. */
function splitLast(events: readonly string[]): readonly string[] {
  return events.length > 1 ? [events.slice(0, -1).join(''), ...events.slice(-1)] : events;
}

/** The last event of a stream of completions. */
export const done: ServerEvent = { data: '[DONE]' };

const errorEvents = (error: unknown): readonly ServerEvent[] => [
  { event: 'error', data: errorBody(error) },
  done,
];

function write({ event, data }: ServerEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`;
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}
