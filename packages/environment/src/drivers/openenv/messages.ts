/** Schemas of an OpenEnv server's responses. */
import { z } from 'zod';

const observation = z.object({
  type: z.literal('observation'),
  data: z.object({
    observation: z.record(z.string(), z.unknown()),
    reward: z
      .union([z.number(), z.boolean()])
      .nullish()
      .transform((reward) => (reward == null ? undefined : Number(reward))),
    done: z.boolean(),
  }),
});

const state = z.object({ type: z.literal('state'), data: z.record(z.string(), z.unknown()) });

const problem = z.object({
  type: z.literal('error'),
  data: z.object({
    message: z.string(),
    code: z.string().default('UNKNOWN'),
    errors: z
      .array(
        z.object({
          type: z.string().default(''),
          loc: z.array(z.union([z.string(), z.number()])).default([]),
          msg: z.string().default(''),
        }),
      )
      .default([]),
  }),
});

export const answerSchema = z.discriminatedUnion('type', [observation, state, problem]);

export type Answer = z.infer<typeof answerSchema>;
export type ObservationData = z.infer<typeof observation>['data'];
export type ProblemData = z.infer<typeof problem>['data'];

export const toolSchema = z.object({
  name: z.string(),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.unknown()).nullish(),
});
