/** `environment_args` of an OpenEnv server. */
import { z } from 'zod';
import { checkStarts } from '../shared/starts.js';

const seconds = z.number().positive();
const fields = z.record(z.string(), z.json());

export const openenvArgs = z.strictObject({
  url: z
    .url({ protocol: /^(https?|wss?)$/, error: 'Write http://HOST:PORT or https://HOST.' })
    .describe('http://HOST:PORT, as its documentation starts it.'),
  api_key: z.string().min(1).optional().describe('Sent as Authorization: Bearer.'),
  headers: z.record(z.string(), z.string()).default({}),
  action_field: z
    .string()
    .min(1)
    .optional()
    .describe(
      "The field of the action that holds the policy's text. Default: the only one that its schema has.",
    ),
  action: fields.default({}).describe('Further fields of every action.'),
  observation_fields: z
    .array(z.string())
    .min(1)
    .optional()
    .describe(
      'Fields of the observation that the policy sees. Default: all but null ones and metadata.',
    ),
  reset: fields
    .default({})
    .describe("Sent with every reset; the reset object of a task's row is added."),
  instructions: z.string().optional().describe('System prompt.'),
  max_connections: z
    .int()
    .positive()
    .default(16)
    .describe('Episodes at once; each has a connection.'),
  timeout: seconds.default(120).describe('Seconds for an answer to reset, step or state.'),
  start_timeout: seconds
    .default(300)
    .describe('Seconds to connect, and until a server without capacity must have a place.'),
  check_starts: checkStarts,
});

export type OpenenvArgs = z.infer<typeof openenvArgs>;
