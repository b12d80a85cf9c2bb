/** Response bodies that report whether the client received them. */

/** Listener for the delivery of a response. Exactly one of its methods is called, once. */
export interface DeliveryListener {
  /** Called when the client has received the whole response. */
  delivered(): void;
  /** Called when the client disconnected before it received the whole response. */
  lost(): void;
}

interface Pieces {
  readonly pieces: readonly string[];
  /** True if no more pieces follow. `pieces` is then not empty. */
  readonly last: boolean;
}

/** Resolves to the next pieces of the response, or to undefined if a heartbeat is due first. */
export type NextPieces = (stopped: AbortSignal) => Promise<Pieces | undefined>;

/** Creates a `NextPieces` function that resolves to all pieces at once. */
export const allPieces =
  (pieces: readonly string[]): NextPieces =>
  () =>
    Promise.resolve({ pieces, last: true });

/**
 * Creates the body of a response. Calls `next` until it returns the last pieces. Each time `next`
 * returns undefined, sends a heartbeat. Produces data only when the client reads. The response
 * counts as delivered when the client has read the last piece. If the stream is cancelled first,
 * the client has disconnected.
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
