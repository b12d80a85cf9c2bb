/** `environment_args` of an OpenEnv server. */
import { z } from 'zod';

const seconds = z.number().positive();
const fields = z.record(z.string(), z.json());

export const openenvArgs = z.strictObject({
  /** `http://HOST:PORT`, as its documentation starts it. */
  url: z.url({ protocol: /^(https?|wss?)$/, error: 'Write http://HOST:PORT or https://HOST.' }),
  /** Sent as `Authorization: Bearer`. */
  api_key: z.string().min(1).optional(),
  headers: z.record(z.string(), z.string()).default({}),
  /** The field of the action that holds the policy's text. Default: the only one that its schema has. */
  action_field: z.string().min(1).optional(),
  /** Further fields of every action. */
  action: fields.default({}),
  /** Fields of the observation that the policy sees. Default: all but null ones and metadata. */
  observation_fields: z.array(z.string()).min(1).optional(),
  /** Sent with every reset; the `reset` object of a task's row is added. */
  reset: fields.default({}),
  /** System prompt. */
  instructions: z.string().optional(),
  /** Episodes at once; each has a connection. */
  max_connections: z.int().positive().default(16),
  /** Seconds for an answer to reset, step or state. */
  timeout: seconds.default(120),
  /** Seconds until a server that starts up, or has no capacity left, must have a place. */
  start_timeout: seconds.default(300),
  /** Equal tasks and seeds must give equal first observations. */
  check_starts: z.boolean().default(true),
});

export type OpenenvArgs = z.infer<typeof openenvArgs>;
