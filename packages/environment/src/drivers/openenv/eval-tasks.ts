/** Reads the tasks for evaluations from the Task API of a server, which not all servers have. */
import { describeError } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import { z } from 'zod';
import type { EnvironmentContext } from '../../seam/define.js';
import { broken, shorten, within } from '../../waiting/within.js';
import { bearer, httpUrl, request } from './action-form.js';
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
 * none, or serves several environments.
 * @throws EnvironmentError if the server does not answer, or answers that it cannot at present;
 * CancelledError on abort
 */
export async function readEvalTasks(
  args: OpenenvArgs,
  { logger, signal }: EnvironmentContext,
): Promise<EvalTasks | undefined> {
  const late = () =>
    broken(
      'ENVIRONMENT_DEADLINE',
      `${args.url} did not list its tasks for evaluations within ${limitMs / 1000} s. ${fix}`,
    );
  try {
    return await within({ ms: limitMs, signal }, late, (ended) => askEvalTasks(args, ended));
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    logger.info(
      `${args.url} lists no tasks for evaluations, so that evaluations send it only other seeds: ${describeError(error)}`,
    );
    return undefined;
  }
}

const fix = 'See its log, or name the split of the evaluation in its environment_args.reset.';

/** Returns true for the status of a server that cannot answer at present. 501 is an answer. */
const isTransient = (status: number): boolean =>
  status === 408 || status === 429 || (status >= 500 && status !== 501);

async function askEvalTasks(args: OpenenvArgs, signal: AbortSignal): Promise<EvalTasks> {
  const headers = {
    ...{ 'content-type': 'application/json', ...args.headers },
    ...bearer(args.api_key),
  };
  const ask = async <T>(path: string, schema: z.ZodType<T>, sent?: object): Promise<T> => {
    const url = `${httpUrl(args)}/${path}`;
    const post = sent && { method: 'POST', body: JSON.stringify(sent) };
    const { status, body } = await request(url, { headers, signal, ...post });
    if (isTransient(status))
      throw broken(
        'ENVIRONMENT_SERVER',
        `${url} was answered with status ${status}: ${shorten(body)}. ${fix}`,
      );
    return schema.parse(tryJson(body));
  };
  const [environment] = await ask('list_environments', environments);
  const listed = await ask(`${encodeURIComponent(environment)}/splits`, splits);
  const of = (type: string) => listed.find((split) => split.type === type)?.name;
  const split = z.string().parse(of('test') ?? of('validation'));
  const path = `${encodeURIComponent(environment)}/num_tasks`;
  const { num_tasks: count } = await ask(path, size, { split });
  return { split, count };
}
