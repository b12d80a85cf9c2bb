/** How an environment broke in the attempts of one run: by the same action each time, or not. */
import type { EnvironmentError } from '@trinity-rft/core';

export interface Breakages {
  /** The attempt before has broken it by the same action. */
  isRepeated(error: EnvironmentError): boolean;
  /** The next attempt has failed. @param answers runs of all tasks that the environment has answered by now */
  add(error: EnvironmentError, answers: number): void;
  /** In how many attempts up to now the same action broke it. */
  inRow(): number;
  /** The environment answered others between the last two attempts: it is not down. */
  answeredOthers(): boolean;
}

export function createBreakages(): Breakages {
  let last: string | undefined;
  let inRow = 0;
  let [answersBefore, answersNow] = [0, 0];
  const isRepeated = (error: EnvironmentError): boolean => {
    const action = actionOf(error);
    return action !== undefined && action === last;
  };
  return {
    isRepeated,
    add: (error, answers) => {
      [answersBefore, answersNow] = [answersNow, answers];
      const action = actionOf(error);
      inRow = isRepeated(error) ? inRow + 1 : Number(action !== undefined);
      last = action;
    },
    inRow: () => inRow,
    answeredOthers: () => answersNow > answersBefore,
  };
}

/** Undefined when it broke before any action, or does not say at which. */
function actionOf({ code, details: { step, action } }: EnvironmentError): string | undefined {
  return typeof action === 'number' ? JSON.stringify([code, step, action]) : undefined;
}
