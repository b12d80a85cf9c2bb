/** Reads the body of the request that creates a job. */
import type { ModelError } from '@trinity-rft/core';
import { graderSchema } from '@trinity-rft/workflow/reward';
import { z } from 'zod';
import { refused, unknownParameter } from './refuse.js';

/** Returns a schema that accepts `auto` or what the schema `number` accepts. */
const auto = <T extends z.ZodType>(number: T, expected: string) =>
  z.union([z.literal('auto'), number], { error: `expected "auto" or ${expected}` }).default('auto');
const count = (most: number) => auto(z.int().min(1).max(most), `a whole number from 1 to ${most}`);
const upTo = (most: number) =>
  auto(z.number().positive().max(most), `a number above 0, at most ${most}`);
const positive = upTo(10_000);

const shared = {
  batch_size: count(4096),
  learning_rate_multiplier: positive,
  n_epochs: count(1000),
};
const supervised = z.strictObject(shared);
const dpo = z.strictObject({ ...shared, beta: upTo(100) });
const reinforcement = z.strictObject({
  ...shared,
  compute_multiplier: positive,
  eval_interval: count(1_000_000),
  eval_samples: count(64),
  reasoning_effort: z.literal('default').optional(),
});

const method = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('supervised'),
    supervised: z.strictObject({ hyperparameters: supervised.prefault({}) }).prefault({}),
  }),
  z.strictObject({
    type: z.literal('dpo'),
    dpo: z.strictObject({ hyperparameters: dpo.prefault({}) }).prefault({}),
  }),
  z.strictObject({
    type: z.literal('reinforcement'),
    reinforcement: z.strictObject({
      grader: graderSchema,
      hyperparameters: reinforcement.prefault({}),
    }),
  }),
]);

const metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= 16, 'at most 16 pairs');

const jobRequest = z
  .strictObject({
    model: z.string().min(1),
    training_file: z.string().min(1),
    validation_file: z.string().min(1).nullish(),
    suffix: z
      .string()
      .regex(/^[\w.-]{1,64}$/, 'up to 64 letters, digits, -, _ and .')
      .nullish(),
    seed: z.int().min(0).max(2_147_483_647).nullish(),
    metadata: metadata.nullish(),
    integrations: z
      .array(z.never(), { error: 'no integrations: the runs have monitors of their own' })
      .max(0, 'no integrations: the runs have monitors of their own')
      .nullish(),
    method: method.optional(),
    hyperparameters: supervised.optional(),
  })
  .refine((body) => body.method === undefined || body.hyperparameters === undefined, {
    path: ['hyperparameters'],
    error:
      'either method with its own hyperparameters, or hyperparameters, which is the older form',
  });

export type JobRequest = z.infer<typeof jobRequest>;
export type JobMethod = z.infer<typeof method>;
export type MethodName = JobMethod['type'];
/** Hyperparameters by name: `auto` or a number. */
export type Hyperparameters = Readonly<Record<string, unknown>>;

/**
 * Validates the body of a request that creates a job.
 * @throws ModelError 400 naming the first invalid field
 */
export function readJobRequest(body: unknown): JobRequest {
  const { success, data, error } = jobRequest.safeParse(body);
  if (success) return data;
  throw fieldError(error);
}

/**
 * Returns an error for the first problem in a request body, with the API's wording.
 * @param owner path of the field that was validated; empty if the body itself was validated
 */
export function fieldError(
  { issues: [issue] }: z.ZodError,
  ...owner: readonly string[]
): ModelError {
  const within = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const param = [...owner, ...(issue?.path ?? []), ...within].join('.');
  if (within.length > 0) return unknownParameter(param);
  if (issue?.code === 'invalid_type' && issue.message.endsWith('received undefined'))
    return refused(`Missing required parameter: '${param}'.`, {
      param,
      code: 'missing_required_parameter',
    });
  return refused(`Invalid value for '${param}': ${issue?.message ?? 'it cannot be read'}.`, {
    param,
  });
}

/**
 * Returns the method of a job. A request with `hyperparameters` but without `method` uses the older
 * form of the API, and means `supervised`.
 */
export const methodOf = ({ method: given, hyperparameters }: JobRequest): JobMethod =>
  given ?? {
    type: 'supervised',
    supervised: { hyperparameters: hyperparameters ?? supervised.parse({}) },
  };
