/** Types of the methods that a thread offers, and of the messages that carry calls and replies. */

/**
 * The functions that a thread offers, by name. Each function takes at most one argument. Arguments
 * and results are cloned, so they must be plain data, typed arrays and ports.
 */
export type MethodTable<Names extends PropertyKey = string> = Readonly<
  Record<Names, (input: never) => unknown>
>;

/** Result of the method `K` of `M`. */
export type ResultOf<M extends MethodTable<keyof M>, K extends keyof M> = Awaited<ReturnType<M[K]>>;

export interface CallMessage {
  readonly id: number;
  readonly method: string;
  readonly input: unknown;
}

/** Tells the other side that the caller no longer waits for the call with the id `cancel`. */
interface CancelMessage {
  readonly cancel: number;
}

/** Messages sent together and handled in this order. */
export type CallerMessages = readonly (CallMessage | CancelMessage)[];

/**
 * Reply to a call. Errors are sent as records, because a structured clone would lose their classes
 * and codes.
 */
export type Reply = { readonly id: number } & (
  | { readonly result: unknown }
  | { readonly error: unknown }
  /** Progress value, sent before the result, any number of times. */
  | { readonly progress: unknown }
);
