/** Environment in which the model guesses a number from the hints `higher` and `lower`. */
import { defineEnvironment, nativeEnvironment, rowsOfSplit } from '@trinity-rft/environment';
import { z } from 'zod';
import { bisect, playRound } from './round.ts';

const args = z.strictObject({
  most: z.int().min(1).max(1000).default(99).describe('The largest number'),
});

const numberOf = (row: Readonly<Record<string, unknown>>) => Number(row['number']);

export const guess = defineEnvironment({
  name: 'guess',
  description: 'Guess a number by the hints higher and lower.',
  args,
  play: { maxTurns: 10, reward: 'sum' },
  open: ({ most }) => nativeEnvironment(({ row }) => playRound(numberOf(row), most)),
  tasks: (range, { most }) =>
    rowsOfSplit(
      range,
      (seed) => ({ number: seed % (most + 1) }),
      (row) => String(row['number']),
    ),
  solver: (_, { most }) => bisect(most),
});
