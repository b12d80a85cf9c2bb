/** The two ways to write an answer: a JSON document, or server-sent events (SSE). */
import type { TurnSoFar } from '../../../rollout/generate.js';
import { errorBody } from './error-response.js';

/**
 * How an answer is written.
 * @typeParam T the finished answer
 * @typeParam Head what is known of it before the first token
 */
export interface AnswerEncoding<T, Head = never> {
  readonly contentType: string;
  /** Ignored by clients. */
  readonly heartbeat: string;
  /** At least one; when a client has read the last one, it has the whole answer. */
  readonly pieces: (answer: T) => readonly string[];
  /** Writes an answer while it is generated, for one client. Absent for documents. */
  readonly live?: (head: Head) => LiveWriter<T>;
  /** An error after headers with status 200 have been sent. */
  readonly failure: (error: unknown) => string;
}

export type Turns = readonly (TurnSoFar | undefined)[];

export interface LiveWriter<T> {
  /** Text that the turns have gained; may be empty. */
  update(turns: Turns): string;
  /** The rest, as `AnswerEncoding.pieces`. */
  end(answer: T): readonly string[];
}

/** The heartbeat is white space, which JSON allows before a document. */
export function jsonEncoding<T, Head = never>(
  document: (answer: T) => object,
): AnswerEncoding<T, Head> {
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

/** The events of one answer to one client. */
export interface EventWriter<T> {
  /** Events for what the turns have gained since the last call. */
  update(turns: Turns): readonly ServerEvent[];
  /** The rest of the finished answer: all of it where {@link update} was not called. */
  end(answer: T): readonly ServerEvent[];
}

export interface EventStream<T, Head> {
  readonly headOf: (answer: T) => Head;
  readonly writer: (head: Head) => EventWriter<T>;
  /** @default an `error` event with OpenAI's error body, then `[DONE]` */
  readonly failure?: (error: unknown) => readonly ServerEvent[];
}

export function sseEncoding<T, Head>({
  headOf,
  writer,
  failure = errorEvents,
}: EventStream<T, Head>): AnswerEncoding<T, Head> {
  const pieces = (events: readonly ServerEvent[]): readonly string[] =>
    splitLast(events.map(write));
  return {
    contentType: 'text/event-stream; charset=utf-8',
    heartbeat: ': keepalive\n\n',
    pieces: (answer) => pieces(writer(headOf(answer)).end(answer)),
    live: (head) => {
      const events = writer(head);
      return {
        update: (turns) => events.update(turns).map(write).join(''),
        end: (answer) => pieces(events.end(answer)),
      };
    },
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
