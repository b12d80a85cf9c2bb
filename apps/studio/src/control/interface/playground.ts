/** Checkpoints that answer, and feedback to a product that learns. */
import { count, type Actions, type Routes } from '@trinity-rft/inspect/studio';
import { z } from 'zod';

export const checkpoint = z.object({
  name: z.string().describe('`global_step_40`, or `start`: the model that the run began with.'),
  step: count.describe('Train steps.'),
});

export const message = z.object({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string().max(200_000),
});

const alternative = z.object({ text: z.string(), logprob: z.number() });

const spokenToken = z.object({
  id: z.int(),
  text: z.string().describe('The last of several tokens has the character that they share.'),
  logprob: z.number(),
  top: z.array(alternative).describe('The most likely tokens there.'),
});

/** One line of JSON each. */
export const spoken = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('wait'), what: z.string() }).describe('What is waited for.'),
  z
    .object({ kind: z.literal('prompt'), text: z.string(), tokens: count, template: z.string() })
    .describe('What the chat template makes of the messages, and its source.'),
  z.object({ kind: z.literal('text'), text: z.string() }).describe('More of the answer.'),
  z.object({
    kind: z.literal('end'),
    tokens: z.array(spokenToken),
    text: z.string().describe('The answer without markers.'),
    stopReason: z.enum(['stop', 'length']),
  }),
  z.object({ kind: z.literal('problem'), problem: z.string() }),
]);

const sampling = {
  messages: z.array(message).min(1).max(200),
  temperature: z.number().min(0).max(5),
  maxTokens: z.int().min(1).max(4096),
};

export const sayBody = z.object({
  ...sampling,
  checkpoint: z.string(),
  seed: z.int().min(0).max(0xffff_ffff),
});

const product = {
  url: z.url({ protocol: /^https?$/ }).describe('As `trinity serve` prints it.'),
  apiKey: z.string().max(512).describe('Used for this request only.'),
};

export const askProductBody = z.object({ ...product, ...sampling });

export const productAnswer = z.object({
  id: z.string().describe('For feedback.'),
  text: z.string(),
  tokens: z.array(spokenToken.omit({ id: true })),
});

export const feedbackBody = z.object({
  ...product,
  reward: z.number(),
  answer: z.string(),
  task: z.string().max(200).describe('Answers to the same task are compared.'),
  run: count.describe('Attempt at the task.'),
});

const feedbackAnswer = z.object({ applied: count });
export const commitBody = z.object(product);
export const commitAnswer = z.object({
  step: z.int(),
  calls: count,
  experiences: count,
});

export const playgroundRoutes = {
  '/api/runs/{run}/checkpoints': {
    summary: 'Checkpoints of a run that can answer, the newest first.',
    query: {},
    answer: z.array(checkpoint),
  },
} satisfies Routes;

export const playgroundActions = {
  '/api/actions/runs/{run}/say': {
    summary: 'Loads a checkpoint if needed, and streams its answer: a line of JSON for each part.',
    body: sayBody,
    answer: spoken,
  },
  '/api/actions/playground/ask': {
    summary: 'An answer of a product behind `trinity serve`.',
    body: askProductBody,
    answer: productAnswer,
  },
  '/api/actions/playground/feedback': {
    summary: 'A reward for such an answer.',
    body: feedbackBody,
    answer: feedbackAnswer,
  },
  '/api/actions/playground/commit': {
    summary: 'Makes training data of the answers that have rewards.',
    body: commitBody,
    answer: commitAnswer,
  },
} satisfies Actions;
