/** Tracks whether the same action, or the grade, broke an environment in consecutive attempts of one rollout. */
import type { EnvironmentError } from '@trinity-rft/core';

export interface Breakages {
  /** Returns true if the same action broke the environment in the previous attempt. */
  isRepeated(error: EnvironmentError): boolean;
  /**
   * Records a failed attempt.
   * @param answers number of attempts, over all tasks, that the environment has answered so far
   */
  add(error: EnvironmentError, answers: number): void;
  /**
   * Returns the number of consecutive attempts, up to the latest one, in which the same action
   * broke the environment.
   */
  inRow(): number;
  /**
   * Returns true if the environment answered other attempts between the last two failures, which
   * shows that the environment is not down.
   */
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

/**
 * Returns a string that identifies the action, or the grade, that broke an environment. Returns
 * undefined if the environment broke before any action, or does not report the action.
 */
function actionOf({ code, details: { step, action } }: EnvironmentError): string | undefined {
  return action === undefined ? undefined : JSON.stringify([code, step, action]);
}

/** Returns true if the grade failed, after all actions of the rollout. */
export const isOfGrade = ({ details }: EnvironmentError): boolean => details['action'] === 'grade';
