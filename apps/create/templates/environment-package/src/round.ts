/** One episode, and a solver that wins it. */
import type { Action, Solver, StepResult, World } from '@trinity-rft/environment';

export function playRound(number: number, most: number): World {
  let nearest = most;
  return {
    instructions: `Guess a number from 0 to ${most}. Answer with a number alone.`,
    observation: 'guess',
    step: (action): StepResult => {
      const given = readGuess(action);
      // An invalid action is refused: the state does not change, and the model can try again.
      if (given === undefined) return { observation: 'error', refused: true, done: false };
      nearest = Math.min(nearest, Math.abs(given - number));
      if (given === number) return { observation: 'right', reward: 1, done: true };
      return { observation: given < number ? 'higher' : 'lower', done: false };
    },
    // Reward for a model that runs out of turns, by its nearest guess.
    grade: () => 0.5 * (1 - nearest / Math.max(1, most)),
  };
}

function readGuess(action: Action): number | undefined {
  if (action.type !== 'text' || !/^\d+$/.test(action.text)) return undefined;
  return Number(action.text);
}

/** Halves the remaining range with every guess. */
export function bisect(most: number): Solver {
  let [low, high, last] = [0, most, 0];
  return (observation) => {
    if (observation === 'higher') low = last + 1;
    if (observation === 'lower') high = last - 1;
    last = Math.floor((low + high) / 2);
    return { type: 'text', text: String(last) };
  };
}
