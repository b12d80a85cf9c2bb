/** Response bodies that report whether the client received them. */

/** Listener for the delivery of an answer. Exactly one of its methods is called, once. */
export interface DeliveryListener {
  /** Called when the client received the whole answer. */
  delivered(): void;
  /** Called when the client disconnected before it received the whole answer. */
  lost(): void;
}

/** Consecutive pieces of an answer. */
interface Pieces {
  readonly pieces: readonly string[];
  /** True if no more pieces follow; `pieces` then has at least one element. */
  readonly last: boolean;
}

/** Returns a promise of the next pieces of the answer, or of undefined when a heartbeat is due. */
export type NextPieces = (stopped: AbortSignal) => Promise<Pieces | undefined>;

/** Creates a function that returns all pieces at once. */
export const allPieces =
  (pieces: readonly string[]): NextPieces =>
  () =>
    Promise.resolve({ pieces, last: true });

/**
 * Creates the body of a response. Calls `next` until it returns the last pieces, and sends a
 * heartbeat each time `next` returns none. Produces nothing before the client reads. The answer is
 * considered delivered when the client has read the last piece. If the stream is cancelled, the
 * client has disconnected.
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
