/** Delivers a response, complete or in pieces. Sends heartbeats until the response is ready. */
import type { Clock } from '@trinity-rft/core';
import { withoutCause } from '@trinity-rft/http-server';
import type { Answer } from './answer.js';
import { allPieces, bodyStream, type DeliveryListener, type NextPieces } from './body-stream.js';
import type { AnswerEncoding, LiveWriter } from './encodings.js';
import type { LiveAnswer } from './live-answer.js';

/** A response as one waiting client sees it, whether finished or still being generated. */
export interface PendingAnswer<T, Head = never> extends DeliveryListener {
  /** The part of the response that can no longer change. */
  readonly live: LiveAnswer<Head>;
  /**
   * Promise of the finished response. Rejects with a CancelledError as soon as the client has
   * disconnected.
   */
  readonly result: Promise<T>;
}

export interface Heartbeat {
  /**
   * Milliseconds before the first heartbeat. Until then no header has been sent, so an error can
   * still set the status.
   * @default 200_000
   */
  readonly afterMs: number;
  /** Milliseconds between two heartbeats. @default 15_000 */
  readonly everyMs: number;
}

export interface DeliveryPolicy {
  /**
   * Times at which heartbeats are sent for responses that take long. By default, they are sent
   * before Node's fetch times out after 300 s.
   */
  readonly heartbeat?: Partial<Heartbeat>;
  /**
   * Called with each error that is the server's fault, such as a full disk. If set, the client gets
   * an error without the cause, because the cause may name files of this machine.
   * @default no callback; clients get the cause
   */
  readonly onFault?: ((error: unknown) => void) | undefined;
}

export interface DeliveryOptions extends DeliveryPolicy {
  readonly runtime: { readonly clock: Clock };
}

/**
 * Sends a response: waits until it is finished, or if the client streams it, until it begins.
 * Throws an error that occurs before anything was sent, so that the HTTP response has the error's
 * status. Writes a later error into the body. If writing the response fails, the response counts as
 * lost.
 */
export async function deliver<T, Head>(
  pending: PendingAnswer<T, Head>,
  encoding: AnswerEncoding<T, Head>,
  { heartbeat, onFault, runtime: { clock } }: DeliveryOptions,
): Promise<Answer> {
  const { afterMs = 200_000, everyMs = 15_000 } = heartbeat ?? {};
  const news = await withinTime(nextNews(pending, encoding, 0), afterMs, clock);
  if (news !== 'late' && news !== 'changed') {
    try {
      return ready(news.answer, pending, encoding);
    } catch (error) {
      pending.lost();
      throw error;
    }
  }
  const next = livePieces(pending, encoding, {
    everyMs,
    clock,
    onFault,
    isLate: news === 'late',
  });
  return inPieces(encoding, bodyStream(next, pending, encoding.heartbeat));
}

function ready<T, Head>(
  answer: T,
  pending: PendingAnswer<T, Head>,
  encoding: AnswerEncoding<T, Head>,
): Answer {
  const pieces = encoding.pieces(answer);
  const [text = ''] = pieces;
  if (pieces.length > 1) return inPieces(encoding, bodyStream(allPieces(pieces), pending));
  return {
    status: 200,
    headers: {
      'content-type': encoding.contentType,
      'cache-control': 'no-cache',
      'content-length': `${Buffer.byteLength(text)}`,
    },
    text,
    delivered: () => pending.delivered(),
    lost: () => pending.lost(),
  };
}

/**
 * Creates a response with `transfer-encoding`. Servers write each piece of such a response before
 * they read the next one, so they notice when a client disconnects in between.
 */
const inPieces = (
  { contentType }: { readonly contentType: string },
  body: ReadableStream<Uint8Array>,
): Response =>
  new Response(body, {
    headers: {
      'content-type': contentType,
      'cache-control': 'no-cache',
      'transfer-encoding': 'chunked',
    },
  });

/** The finished response, or `changed` if its turns have changed since the last check. */
type News<T> = { readonly answer: T } | 'changed';

function nextNews<T, Head>(
  { result, live }: PendingAnswer<T, Head>,
  encoding: AnswerEncoding<T, Head>,
  seen: number,
): Promise<News<T>> {
  const finished = result.then((answer) => ({ answer }));
  if (!encoding.live) return finished;
  return Promise.race([finished, live.changed(seen).then(() => 'changed' as const)]);
}

interface LiveOptions extends Pick<DeliveryPolicy, 'onFault'> {
  readonly everyMs: number;
  readonly clock: Clock;
  /** True to send a heartbeat first, because `afterMs` has already passed. */
  readonly isLate: boolean;
}

function livePieces<T, Head>(
  pending: PendingAnswer<T, Head>,
  encoding: AnswerEncoding<T, Head>,
  { everyMs, clock, onFault, isLate }: LiveOptions,
): NextPieces {
  const { live } = pending;
  let heartbeatDue = isLate;
  let writer: LiveWriter<T> | undefined;
  let seen = 0;
  return async (stopped) => {
    if (heartbeatDue) {
      heartbeatDue = false;
      return undefined;
    }
    try {
      const news = await withinTime(nextNews(pending, encoding, seen), everyMs, clock, stopped);
      if (news === 'late') return undefined;
      if (news !== 'changed') {
        const pieces = writer ? writer.end(news.answer) : encoding.pieces(news.answer);
        return { pieces, last: true };
      }
      seen = live.changes;
      if (live.head !== undefined) writer ??= encoding.live?.(live.head);
      const text = writer?.update(live.turns) ?? '';
      return { pieces: text === '' ? [] : [text], last: false };
    } catch (error) {
      pending.lost();
      return { pieces: [encoding.failure(withoutCause(error, onFault))], last: true };
    }
  };
}

/**
 * Resolves to the value of `news`, or to `late` if `news` takes longer than `ms` or `stopped`
 * aborts.
 */
async function withinTime<T>(
  news: Promise<T>,
  ms: number,
  clock: Clock,
  stopped?: AbortSignal,
): Promise<T | 'late'> {
  const { promise: late, resolve } = Promise.withResolvers<'late'>();
  const giveUp = (): void => resolve('late');
  const stopTimer = clock.after(ms, giveUp);
  if (stopped?.aborted) giveUp();
  stopped?.addEventListener('abort', giveUp);
  try {
    return await Promise.race([news, late]);
  } finally {
    stopped?.removeEventListener('abort', giveUp);
    stopTimer();
  }
}
