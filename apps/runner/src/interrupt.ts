/** Ctrl-C: the first asks the run to stop cleanly, the second ends the process. */

export interface Interrupt {
  readonly signal: AbortSignal;
  /** Gives the signals back. */
  release(): void;
}

const signals = ['SIGINT', 'SIGTERM'] as const;

/** `report` is told, once, what is going on. */
export function catchInterrupts(
  report: (line: string) => void,
  exit: (code: number) => void,
): Interrupt {
  const abort = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (abort.signal.aborted) return exit(130);
    report(`${name}: finishing the step and saving a checkpoint. Once more to stop at once.`);
    abort.abort(new Error(`The process got ${name}.`));
  };
  for (const name of signals) process.on(name, onSignal);
  return {
    signal: abort.signal,
    release: () => {
      for (const name of signals) process.off(name, onSignal);
    },
  };
}

/**
 * Resolves at the first Ctrl-C; a second one while something closes ends the process.
 * @param gone rejects with its reason when it aborts
 */
export function untilInterrupted(gone?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const interrupt = catchInterrupts(
      () => resolve(),
      (code) => process.exit(code),
    );
    gone?.addEventListener(
      'abort',
      () => {
        interrupt.release();
        reject(gone.reason as Error);
      },
      { once: true },
    );
  });
}
