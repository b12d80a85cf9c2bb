/** Response bodies that report whether the client received them. */

/** Called once, with one of the two outcomes. */
export interface DeliveryListener {
  /** The client received the whole answer. */
  delivered(): void;
  /** The client disconnected before. */
  lost(): void;
}

/** Some pieces of an answer, in their order. */
interface Pieces {
  readonly pieces: readonly string[];
  /** No more follow. Then there is at least one. */
  readonly last: boolean;
}

/** Resolves to the next pieces of the answer, or to undefined when a heartbeat is due. */
export type NextPieces = (stopped: AbortSignal) => Promise<Pieces | undefined>;

/** All of them at once. */
export const allPieces =
  (pieces: readonly string[]): NextPieces =>
  () =>
    Promise.resolve({ pieces, last: true });

/**
 * Asks `next` until it has the last pieces, and sends a heartbeat each time it has none. Nothing is
 * produced before the client reads. The answer counts as delivered when the client has read the
 * last piece; cancelling the stream means that the client has disconnected.
 */
export function bodyStream(
  next: NextPieces,
  listener: DeliveryListener,
  heartbeat = '',
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const stopped = new AbortController();
  const ready: string[] = [];
  let last = false;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        while (ready.length === 0) {
          const more = await next(stopped.signal);
          if (stopped.signal.aborted) return;
          ready.push(...(more?.pieces ?? [heartbeat]));
          last = more?.last ?? false;
        }
        controller.enqueue(encoder.encode(ready.shift()));
        if (!last || ready.length > 0) return;
        listener.delivered();
        controller.close();
      },
      cancel: () => {
        stopped.abort();
        listener.lost();
      },
    },
    { highWaterMark: 0 },
  );
}
