/** HTTP routes of the server. Episodes are played over WebSocket. */
import { TaskError } from '@trinity-rft/core';
import { z } from 'zod';
import type { EnvironmentDefinition } from '../../seam/define.js';
import type { Tasks } from './tasks.js';

export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface Routes {
  readonly definition: EnvironmentDefinition;
  readonly tasks: Tasks;
  /** True if actions may also be tool calls. */
  readonly mayHaveTools: boolean;
}

const ok = (body: unknown): HttpAnswer => ({ status: 200, body });
const fault = (status: number, detail: string): HttpAnswer => ({ status, body: { detail } });

const taskRequest = z.object({
  split: z.string(),
  index: z.int().min(0).optional(),
  start: z.int().min(0).nullish(),
  stop: z.int().min(0).nullish(),
});

export function answerHttp(
  routes: Routes,
  method: string,
  path: string,
  body: unknown,
): HttpAnswer {
  const { definition, mayHaveTools } = routes;
  const { name, description } = definition;
  if (method === 'GET') {
    if (path === '/health') return ok({ status: 'healthy' });
    if (path === '/metadata') return ok({ name, description, version: '1.0.0' });
    if (path === '/schema') return ok(schemas(mayHaveTools));
    if (path === '/list_environments') return ok([name]);
  }
  const [, environment, verb] =
    /^\/([^/]+)\/(splits|tasks|num_tasks|task|task_range)$/.exec(path) ?? [];
  if (verb !== undefined) return answerTasks(routes, { environment, verb, method, body });
  if (['/reset', '/step', '/state'].includes(path))
    return fault(501, 'An episode needs a connection: send reset and step over the WebSocket /ws.');
  return fault(404, `${method} ${path} is not served.`);
}

interface TasksCall {
  readonly environment: string | undefined;
  readonly verb: string;
  readonly method: string;
  readonly body: unknown;
}

function answerTasks({ definition, tasks }: Routes, call: TasksCall): HttpAnswer {
  const { environment, verb, method, body } = call;
  if (environment !== definition.name) return fault(404, `unknown environment '${environment}'`);
  if (tasks.splits.length === 0) return fault(501, `${verb} is not supported for this environment`);
  if (verb === 'splits') return ok(tasks.splits.map((name) => ({ name, type: splitTypes[name] })));
  if (method !== 'POST') return fault(405, `Use POST for ${verb}.`);
  const read = taskRequest.safeParse(body);
  if (!read.success) return fault(422, z.prettifyError(read.error));
  try {
    return ok(taskAnswer(verb, read.data, tasks));
  } catch (error) {
    if (error instanceof TaskError) return fault(400, error.message);
    throw error;
  }
}

const splitTypes = { train: 'train', eval: 'test' };

/**
 * Returns the response to a request for tasks.
 * @throws TaskError for an unknown split or index
 */
function taskAnswer(verb: string, request: z.infer<typeof taskRequest>, tasks: Tasks): unknown {
  const { split, index = 0, start, stop } = request;
  if (verb === 'task') return { task: tasks.row(split, index) };
  const size = tasks.size(split);
  if (verb === 'num_tasks') return { num_tasks: size };
  const [from, to] = [start ?? 0, Math.min(stop ?? size, size)];
  const length = Math.max(0, to - from);
  return { tasks: Array.from({ length }, (_, offset) => tasks.row(split, from + offset)) };
}

const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
});

const message = { type: 'string' };
const toolCall = {
  type: { const: 'call_tool' },
  tool_name: { type: 'string' },
  arguments: object({}),
};

const schemas = (mayHaveTools: boolean) => ({
  action: mayHaveTools ? object({ ...toolCall, message }) : object({ message }, ['message']),
  observation: object({ message: { type: 'string' }, metadata: object({}) }),
  state: object({ episode_id: { type: ['string', 'null'] }, step_count: { type: 'integer' } }),
});
