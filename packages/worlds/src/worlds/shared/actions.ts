import type { Action, Solver, StepResult } from '@trinity-rft/environment';

/** Creates a solver that plays a fixed list of actions. */
export function playing(actions: readonly Action[]): Solver {
  let turn = 0;
  return () => actions[turn++];
}

export const textAction = (text: string): Action => ({ type: 'text', text });

/**
 * Creates the result of a refused action. The state is unchanged, and the policy is given the
 * reason.
 */
export const refuse = (observation: string): StepResult => ({
  observation,
  reward: 0,
  done: false,
  refused: true,
});
