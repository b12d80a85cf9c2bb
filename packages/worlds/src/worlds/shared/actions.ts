import type { Action, Solver, StepResult } from '@trinity-rft/environment';

/** Creates a solver that plays a fixed list of actions. */
export function playing(actions: readonly Action[]): Solver {
  let turn = 0;
  return () => actions[turn++];
}

export const textAction = (text: string): Action => ({ type: 'text', text });

/**
 * Creates the result of a refused action: an observation that states the reason, without a change
 * of state.
 */
export const refuse = (observation: string): StepResult => ({
  observation,
  reward: 0,
  done: false,
  refused: true,
});
