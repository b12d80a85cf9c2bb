/** Environments on an OpenEnv server: https://github.com/meta-pytorch/OpenEnv */
import { type RawTask, type ToolDefinition, TaskError } from '@trinity-rft/core';
import { knowSecretHeaders } from '@trinity-rft/core/support';
import { z } from 'zod';
import { rowsOfSplit } from '../../native/splits.js';
import { defineEnvironment, type EnvironmentContext } from '../../seam/define.js';
import type { Environment, Episode, EpisodeStart } from '../../seam/types.js';
import { endsOnce } from '../../seam/ends-once.js';
import { evalIndexOf, markEval } from '../shared/eval-rows.js';
import { createStartCheck } from '../shared/starts.js';
import { untimedOf } from '../../waiting/deadline-clock.js';
import { abortable, broken } from '../../waiting/within.js';
import { type ActionForm, bearer, readActionForm } from './action-form.js';
import { type OpenenvArgs, openenvArgs } from './args.js';
import { wrongAnswer } from './connection.js';
import { type Begun, createConnections } from './connections.js';
import { openenvEpisode, serverError } from './episode.js';
import { type EvalTasks, readEvalTasks } from './eval-tasks.js';
import { type ObservationData, toolSchema } from './messages.js';
import { renderObservation, toolDefinition } from './rendering.js';

/**
 * Environment that plays any environment of an OpenEnv server over WebSocket, with text actions or
 * tool calls.
 */
export const openenv = defineEnvironment<OpenenvArgs>({
  name: 'openenv',
  description: 'Environments of an OpenEnv server, which environment_args.url names.',
  args: openenvArgs,
  open: async (args, context) => {
    knowSecretHeaders({ ...args.headers, ...bearer(args.api_key) });
    const patience = { ms: args.start_timeout * 1000, signal: context.signal };
    return openenvEnvironment(args, await readActionForm(args, patience), context);
  },
  tasks: (range) => {
    const rows = rowsOfSplit(range, (seed) => ({ reset: { seed } }), JSON.stringify);
    return markEval(range, rows);
  },
});

function openenvEnvironment(
  args: OpenenvArgs,
  form: ActionForm,
  context: EnvironmentContext,
): Environment {
  const connections = createConnections({
    address: { url: socketUrl(args.url), headers: { ...args.headers, ...bearer(args.api_key) } },
    limit: args.max_connections,
    timeoutMs: args.timeout * 1000,
    startMs: args.start_timeout * 1000,
  });
  const checkStart = createStartCheck(args.url);
  // Read only if there are generated rows for evaluations, and until the server has answered.
  let evalTasks: Promise<EvalTasks | undefined> | undefined;

  /** Returns the task that the server lists for a generated row, or undefined if there is none. */
  async function listedTask(start: EpisodeStart, signal: AbortSignal) {
    const isChosen = 'split' in args.reset || 'index' in args.reset;
    const index = evalIndexOf(start.row);
    if (isChosen || index === undefined) return undefined;
    const listed = (evalTasks ??= readEvalTasks(args, context).catch((error: unknown) => {
      evalTasks = undefined;
      throw error;
    }));
    const found = await untimedOf(start)(() => abortable(listed, signal));
    return found && { split: found.split, index: index % found.count };
  }

  async function begin(start: EpisodeStart, begun: Begun, signal: AbortSignal): Promise<Episode> {
    const { observation: fields } = firstObservation(args.url, begun);
    const listed = form.type === 'tools' ? await listTools(args, begun, signal) : [];
    const tools = listed.length > 0 ? listed : undefined;
    const observation = promptOf(start.row, renderObservation(fields, args.observation_fields));
    if (args.check_starts) checkStart(start, observation);
    const instructions = args.instructions ?? instructionsOf(fields);
    const options = { begun, form, args, observation, instructions, tools };
    return endsOnce(args.url, openenvEpisode(options));
  }

  return {
    reset: async (start, signal) => {
      const data = { ...resetData(start, args), ...(await listedTask(start, signal)) };
      const begun = await connections.begin({ type: 'reset', data }, start, signal);
      try {
        return await begin(start, begun, signal);
      } catch (error) {
        begun.end(false);
        throw error;
      }
    },
    close: async () => connections.close(),
  };
}

const socketUrl = (url: string): string => `${url.replace(/^http/, 'ws').replace(/\/+$/, '')}/ws`;

const rowSchema = z.object({
  prompt: z.string().optional(),
  reset: z.record(z.string(), z.unknown()).default({}),
  split: z.string().optional(),
  index: z.int().min(0).optional(),
});

/**
 * Validates a row.
 * @throws TaskError if the row is invalid
 */
function readRow(row: RawTask): z.infer<typeof rowSchema> {
  const read = rowSchema.safeParse(row);
  if (read.success) return read.data;
  throw new TaskError(
    `A task of openenv may have a text "prompt", an object "reset" for its reset, and "split" with "index": ${z.prettifyError(read.error)}`,
    { code: 'TASK_ROW' },
  );
}

/** Returns the data of a reset request. It is the same for all rollouts of a task. */
function resetData({ row, seed }: EpisodeStart, args: OpenenvArgs): Record<string, unknown> {
  const { reset, split, index } = readRow(row);
  return { seed, split, index, ...args.reset, ...reset };
}

/** Returns the first text for the policy: the row's prompt, followed by the observation. */
function promptOf(row: RawTask, observation: string): string {
  const { prompt } = readRow(row);
  return [prompt, observation].filter((text) => text !== undefined && text !== '').join('\n\n');
}

/** Returns the instructions that `serveEnvironment` adds to the metadata. */
function instructionsOf({ metadata }: ObservationData['observation']): string | undefined {
  const { instructions } = (metadata ?? {}) as Readonly<Record<string, unknown>>;
  return typeof instructions === 'string' ? instructions : undefined;
}

/**
 * Returns the first observation of an episode.
 * @throws EnvironmentError if the response to the reset is not an observation, or the episode is
 * already over
 */
function firstObservation(url: string, { answer }: Begun): ObservationData {
  if (answer.type === 'error') throw serverError(url, 'reset', answer.data);
  if (answer.type === 'state') throw wrongAnswer(url, 'reset', answer.type);
  if (!answer.data.done) return answer.data;
  throw broken(
    'ENVIRONMENT_SERVER',
    `${url} began an episode that is already over. See the server's log, and environment_args.reset.`,
  );
}

/**
 * Reads the tools of the server.
 * @throws EnvironmentError if the server does not list tools
 */
async function listTools(
  { url, timeout }: OpenenvArgs,
  { connection }: Begun,
  signal: AbortSignal,
): Promise<readonly ToolDefinition[]> {
  const request = { type: 'step', data: { type: 'list_tools' } };
  const answer = await connection.ask(request, { ms: timeout * 1000, signal, phase: 'start' });
  if (answer.type === 'error') throw serverError(url, 'list_tools', answer.data);
  const given = answer.type === 'observation' ? answer.data.observation['tools'] : undefined;
  const read = z.array(toolSchema).safeParse(given);
  if (read.success) return read.data.map(toolDefinition);
  throw broken('ENVIRONMENT_ANSWER', `${url} answered "list_tools" without a list of tools.`);
}
