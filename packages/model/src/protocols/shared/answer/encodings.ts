/** The two encodings of a response: a JSON document, or server-sent events (SSE). */
import { errorBody } from '@trinity-rft/http-server';
import type { TurnSoFar } from '../../../rollout/generate.js';

/**
 * Encodes a response in one format.
 * @typeParam T the finished response
 * @typeParam Head data that are known before the first token
 */
export interface AnswerEncoding<T, Head = never> {
  readonly contentType: string;
  /** Text that is sent to keep the connection open. Clients ignore it. */
  readonly heartbeat: string;
  /**
   * Splits a response into one or more pieces. A client that has read the last piece has the whole
   * response.
   */
  readonly pieces: (answer: T) => readonly string[];
  /**
   * Creates a writer that encodes a response for one client while it is generated. Absent for JSON
   * documents.
   */
  readonly live?: (head: Head) => LiveWriter<T>;
  /** Returns the text that reports an error after the headers with status 200 have been sent. */
  readonly failure: (error: unknown) => string;
}

export type Turns = readonly (TurnSoFar | undefined)[];

export interface LiveWriter<T> {
  /**
   * Encodes what has been added to the turns since the last call. Returns an empty string if
   * nothing was added.
   */
  update(turns: Turns): string;
  /** Encodes the rest of the response, split into pieces like `AnswerEncoding.pieces`. */
  end(answer: T): readonly string[];
}

/**
 * Creates the encoding as one JSON document. The heartbeat is whitespace, which JSON allows before
 * a document.
 */
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

/** Writes the events of one response for one client. */
export interface EventWriter<T> {
  /** Returns events for the additions to the turns since the last call. */
  update(turns: Turns): readonly ServerEvent[];
  /**
   * Returns the events for what has not been sent yet. If {@link update} was never called, this is
   * the whole response.
   */
  end(answer: T): readonly ServerEvent[];
}

export interface EventStream<T, Head> {
  readonly headOf: (answer: T) => Head;
  readonly writer: (head: Head) => EventWriter<T>;
  /**
   * Returns the events for an error.
   * @default an `error` event with OpenAI's error body, then `[DONE]`
   */
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

/**
 * Separates the last event from the preceding events. A client that has read the last event has
 * received the whole stream.
 */
function splitLast(events: readonly string[]): readonly string[] {
  return events.length > 1 ? [events.slice(0, -1).join(''), ...events.slice(-1)] : events;
}

/** Last event of a stream of completions. */
export const done: ServerEvent = { data: '[DONE]' };

const errorEvents = (error: unknown): readonly ServerEvent[] => [
  { event: 'error', data: errorBody(error) },
  done,
];

function write({ event, data }: ServerEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`;
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}
