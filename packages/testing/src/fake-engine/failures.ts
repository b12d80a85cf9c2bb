/**
 * Failures that a test orders in advance, and the end of a fake engine: what every call asks before
 * it does anything.
 */
import { EngineError } from '@trinity-rft/core';

export interface Failures<Verb extends string> {
  /** @throws the error that was ordered for `verb`, once, or EngineError after {@link close} */
  enter(verb: Verb): void;
  /** The next call of `verb` rejects with `error` and changes nothing. */
  failNext(verb: Verb, error: Error): void;
  close(): void;
}

export function createFailures<Verb extends string>(): Failures<Verb> {
  const ordered = new Map<Verb, Error>();
  let closed = false;
  return {
    enter: (verb) => {
      if (closed)
        throw new EngineError(`${verb} was called on an engine that is closed.`, {
          code: 'ENGINE_CLOSED',
        });
      const failure = ordered.get(verb);
      ordered.delete(verb);
      if (failure) throw failure;
    },
    failNext: (verb, error) => void ordered.set(verb, error),
    close: () => {
      closed = true;
    },
  };
}
