/** Schemas and route for scoring recorded calls with a checkpoint. */
import { count, numberOrNull, type Actions } from '@trinity-rft/inspect/studio';
import { z } from 'zod';

const perToken = z.array(numberOrNull).describe('One value per response token.');

export const scoreBody = z.object({
  checkpoint: z.string(),
  rollout: count.describe('Row of a rollout; all calls of its attempt are scored.'),
});

/** Part of the response to a score request; each part is one line of JSON. */
export const scored = z.discriminatedUnion('kind', [
  z
    .object({ kind: z.literal('wait'), what: z.string() })
    .describe('Noun phrase shown after "Waiting for".'),
  z.object({
    kind: z.literal('call'),
    id: z.int().describe('Row of the call.'),
    logprobs: perToken,
    entropy: perToken.describe('Entropy of the distribution, in nats.'),
    ratios: perToken.describe('Probability now / as recorded; null for context tokens.'),
  }),
  z.object({ kind: z.literal('end') }),
  z.object({ kind: z.literal('problem'), problem: z.string() }),
]);

export const scoringActions = {
  '/api/actions/runs/{run}/score': {
    summary:
      'Computes what a checkpoint of the run makes of a recorded attempt: a line of JSON for each call. Nothing is written.',
    body: scoreBody,
    answer: scored,
  },
} satisfies Actions;
