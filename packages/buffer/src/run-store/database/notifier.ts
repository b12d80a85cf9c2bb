/** Wake-up signal: processes that commit something use it to wake processes that wait. */

export interface Notifier {
  /** Signals that something was committed. */
  readonly notify: () => void;
  /** Calls `callback` after each signal, also of this process. @returns function that stops listening */
  readonly listen: (callback: () => void) => () => void;
  readonly close: () => void;
}

/** A signal within one process. */
export function localNotifier(): Notifier {
  const listeners = new Set<() => void>();
  return {
    notify: () => {
      for (const listener of listeners) listener();
    },
    listen: (callback) => {
      // Two listeners may share one function.
      const listener = (): void => callback();
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => listeners.clear(),
  };
}
