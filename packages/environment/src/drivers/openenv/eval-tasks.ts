/** Reads the tasks for evaluations from the Task API of a server, which not all servers have. */
import { describeError } from '@trinity-rft/core';
import { z } from 'zod';
import type { EnvironmentContext } from '../../seam/define.js';
import { broken, cancelled, within } from '../../waiting/within.js';
import { bearer, httpUrl } from './action-form.js';
import type { OpenenvArgs } from './args.js';

/** Split for evaluations that a server lists, and its number of tasks. */
export interface EvalTasks {
  readonly split: string;
  readonly count: number;
}

/** Maximum wait for the lists, in ms. Some servers load a data set before they answer. */
const limitMs = 30_000;

const environments = z.tuple([z.string()]);
const splits = z.array(z.object({ name: z.string(), type: z.string() }));
const size = z.object({ num_tasks: z.int().positive() });

/**
 * Returns the tasks for evaluations that the server lists. Returns undefined if the server lists
 * none, serves several environments, or does not answer in time.
 * @throws CancelledError on abort
 */
export async function readEvalTasks(
  args: OpenenvArgs,
  { logger, signal }: EnvironmentContext,
): Promise<EvalTasks | undefined> {
  const late = () => broken('ENVIRONMENT_DEADLINE', `No answer within ${limitMs / 1000} s.`);
  try {
    return await within({ ms: limitMs, signal }, late, (ended) => askEvalTasks(args, ended));
  } catch (error) {
    if (signal.aborted) throw cancelled(signal);
    logger.info(
      `${args.url} lists no tasks for evaluations, so that evaluations send it only other seeds: ${describeError(error)}`,
    );
    return undefined;
  }
}

async function askEvalTasks(args: OpenenvArgs, signal: AbortSignal): Promise<EvalTasks> {
  const headers = {
    ...{ 'content-type': 'application/json', ...args.headers },
    ...bearer(args.api_key),
  };
  const ask = async <T>(path: string, schema: z.ZodType<T>, body?: object): Promise<T> => {
    const sent = body && { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${httpUrl(args)}/${path}`, { headers, signal, ...sent });
    return schema.parse(await response.json());
  };
  const [environment] = await ask('list_environments', environments);
  const listed = await ask(`${encodeURIComponent(environment)}/splits`, splits);
  const of = (type: string) => listed.find((split) => split.type === type)?.name;
  const split = z.string().parse(of('test') ?? of('validation'));
  const path = `${encodeURIComponent(environment)}/num_tasks`;
  const { num_tasks: count } = await ask(path, size, { split });
  return { split, count };
}
