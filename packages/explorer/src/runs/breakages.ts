/** How an environment broke in the attempts of one run: by the same action each time, or not. */
import type { EnvironmentError } from '@trinity-rft/core';

export interface Breakages {
  /** The attempt before has broken it by the same action. */
  isRepeated(error: EnvironmentError): boolean;
  /** The next attempt has failed. */
  add(error: EnvironmentError): void;
  /** In how many attempts up to now the same action broke it. */
  inRow(): number;
}

export function createBreakages(): Breakages {
  let last: string | undefined;
  let inRow = 0;
  const isRepeated = (error: EnvironmentError): boolean => {
    const action = actionOf(error);
    return action !== undefined && action === last;
  };
  return {
    isRepeated,
    add: (error) => {
      const action = actionOf(error);
      inRow = isRepeated(error) ? inRow + 1 : Number(action !== undefined);
      last = action;
    },
    inRow: () => inRow,
  };
}

/** Undefined when it broke before any action, or does not say at which. */
function actionOf({ code, details: { step, action } }: EnvironmentError): string | undefined {
  return typeof action === 'number' ? JSON.stringify([code, step, action]) : undefined;
}
