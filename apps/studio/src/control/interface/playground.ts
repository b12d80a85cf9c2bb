/**
 * Schemas and routes of the playground: responses from checkpoints and a product, and feedback to
 * the product.
 */
import { count, type Actions, type Routes } from '@trinity-rft/inspect/studio';
import { z } from 'zod';

export const checkpoint = z.object({
  name: z.string().describe('`global_step_40`, or `start`: the model that the run began with.'),
  step: count.describe('Number of train steps.'),
});

export const message = z.object({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string().max(200_000),
});

const alternative = z.object({ text: z.string(), logprob: z.number() });

const spokenToken = z.object({
  id: z.int(),
  text: z
    .string()
    .describe('Text of the token; a character of several tokens belongs to the last of them.'),
  logprob: z.number(),
  top: z.array(alternative).describe('Most likely tokens at this position.'),
});

/** Part of a response; each part is one line of JSON. */
export const spoken = z.discriminatedUnion('kind', [
  z
    .object({ kind: z.literal('wait'), what: z.string() })
    .describe('Noun phrase shown after "Waiting for".'),
  z
    .object({ kind: z.literal('prompt'), text: z.string(), tokens: count, template: z.string() })
    .describe('Rendered prompt, and the source of the chat template.'),
  z.object({ kind: z.literal('text'), text: z.string() }).describe('Next part of the answer.'),
  z.object({
    kind: z.literal('end'),
    tokens: z.array(spokenToken),
    text: z.string().describe('Complete answer without markers.'),
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
  url: z.url({ protocol: /^https?$/ }).describe('Address that `trinity serve` prints.'),
  apiKey: z.string().max(512).describe('Used for this request only.'),
};

export const askProductBody = z.object({ ...product, ...sampling });

export const productAnswer = z.object({
  id: z.string().describe('Id of the answer, for feedback.'),
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
    summary: 'Requests an answer of a product behind `trinity serve`.',
    body: askProductBody,
    answer: productAnswer,
  },
  '/api/actions/playground/feedback': {
    summary: 'Gives an answer of a product its reward.',
    body: feedbackBody,
    answer: feedbackAnswer,
  },
  '/api/actions/playground/commit': {
    summary: 'Turns answers with rewards into training data.',
    body: commitBody,
    answer: commitAnswer,
  },
} satisfies Actions;
