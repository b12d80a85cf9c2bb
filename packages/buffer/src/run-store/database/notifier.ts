/**
 * Wake-up signal between processes. A process that has committed a change wakes the processes that
 * wait for changes.
 */

export interface Notifier {
  /** Signals that a change was committed. */
  readonly notify: () => void;
  /**
   * Calls `callback` after each signal, including those of this process.
   * @returns function that stops listening
   */
  readonly listen: (callback: () => void) => () => void;
  readonly close: () => void;
}

/** Creates a notifier that only works within one process. */
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
