/**
 * Rejects calls of a fake engine with errors that a test injects, and all calls after it is closed.
 */
import { EngineError } from '@trinity-rft/core';

export interface Failures<Verb extends string> {
  /**
   * Throws if the call must fail. Must be called at the start of every method of the engine.
   * @throws the injected error, once; EngineError after {@link close}
   */
  enter(verb: Verb): void;
  /** Makes the next call of the method `verb` reject with `error`, without any other effect. */
  failNext(verb: Verb, error: Error): void;
  close(): void;
}

export function createFailures<Verb extends string>(): Failures<Verb> {
  const injected = new Map<Verb, Error>();
  let closed = false;
  return {
    enter: (verb) => {
      if (closed)
        throw new EngineError(`${verb} was called on a closed engine.`, {
          code: 'ENGINE_CLOSED',
        });
      const failure = injected.get(verb);
      injected.delete(verb);
      if (failure) throw failure;
    },
    failNext: (verb, error) => void injected.set(verb, error),
    close: () => {
      closed = true;
    },
  };
}
