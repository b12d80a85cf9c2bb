/** Wake-up signal. A process that commits a change wakes waiting processes with it. */

export interface Notifier {
  /** Signals that something was committed. */
  readonly notify: () => void;
  /**
   * Calls `callback` after each signal, including those of this process.
   * @returns function that stops listening
   */
  readonly listen: (callback: () => void) => () => void;
  readonly close: () => void;
}

/** Creates a notifier within one process. */
export function localNotifier(): Notifier {
  const listeners = new Set<() => void>();
  return {
    notify: () => {
      for (const listener of listeners) listener();
    },
    listen: (callback) => {
      // A new function per listener, because two listeners may pass the same callback.
      const listener = (): void => callback();
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => listeners.clear(),
  };
}
