/** Plays the episodes of one connection, one after the other. */
import { type RawTask, deriveSeed } from '@trinity-rft/core';
import { z } from 'zod';
import {
  beginEpisode,
  type GuardedEpisode,
  type GuardOptions,
} from '../../play/guarded-episode.js';
import type { Action, Environment, StepResult } from '../../seam/types.js';
import type { Tasks } from './tasks.js';

export type Reply =
  | { readonly type: 'observation'; readonly data: Record<string, unknown> }
  | { readonly type: 'state'; readonly data: Record<string, unknown> }
  | { readonly type: 'error'; readonly data: Record<string, unknown> };

export interface Session {
  reset(data: unknown): Promise<Reply>;
  step(data: unknown): Promise<Reply>;
  state(): Reply;
  close(): Promise<void>;
}

const resetSchema = z.object({
  seed: z.int().min(0).nullish(),
  episode_id: z.string().nullish(),
  split: z.string().default('train'),
  index: z.int().min(0).nullish(),
  /** Task row that the client provides. */
  task: z.record(z.string(), z.unknown()).optional(),
});
type Reset = z.infer<typeof resetSchema>;

const actionSchema = z.union([
  z.object({ type: z.literal('list_tools') }),
  z.object({
    type: z.literal('call_tool').optional(),
    tool_name: z.string(),
    arguments: z.record(z.string(), z.unknown()).default({}),
  }),
  z.object({ message: z.string() }),
]);

interface Current {
  readonly episode: GuardedEpisode;
  readonly facts: Record<string, unknown>;
  steps: number;
  isOver: boolean;
}

export function createSession(
  environment: Environment,
  tasks: Tasks,
  guard: GuardOptions,
): Session {
  let current: Current | undefined;

  // An episode is closed only once, even if closing fails.
  const end = async (): Promise<void> => {
    const ended = current?.episode;
    current = undefined;
    await ended?.close();
  };

  async function reset(data: unknown): Promise<Reply> {
    const read = resetSchema.safeParse(data ?? {});
    if (!read.success) return invalid(read.error);
    await end();
    const { row, facts, seed } = startOf(read.data, tasks);
    const episode = await beginEpisode(environment, { row, seed }, guard);
    current = { episode, facts, steps: 0, isOver: false };
    const metadata = { ...facts, instructions: episode.instructions ?? null };
    return observed({ message: episode.observation, metadata }, null, false);
  }

  /** Adds the grade of the episode to the reward of its last step. */
  async function graded(last: StepResult, { episode }: Current): Promise<StepResult> {
    const grade = last.done ? await episode.grade() : undefined;
    return grade === undefined ? last : { ...last, reward: (last.reward ?? 0) + grade };
  }

  async function step(data: unknown): Promise<Reply> {
    const read = actionSchema.safeParse(data);
    if (!read.success) return invalid(read.error);
    if (current === undefined || current.isOver)
      return problem('EXECUTION_ERROR', 'There is no episode to act in: send "reset" first.');
    current.steps++;
    if ('type' in read.data && read.data.type === 'list_tools') return listed(current.episode);
    const action = actionOf(read.data);
    const { episode } = current;
    // Any error ends the episode, because the effects of the error are unknown.
    current.isOver = true;
    const taken = await episode.step(action);
    current.isOver = taken.done;
    const result = await graded(taken, current);
    return action.type === 'tool' ? toolReply(action.name, result, current) : textReply(result);
  }

  const state = (): Reply => ({
    type: 'state',
    data: { episode_id: null, step_count: current?.steps ?? 0, ...current?.facts },
  });

  return { reset, step, state, close: end };
}

interface Start {
  readonly row: RawTask;
  readonly seed: number;
  /** Data that tells the client which task was chosen. */
  readonly facts: Record<string, unknown>;
}

/**
 * Chooses the task row and seed of a new episode. The row is the first of these that is available:
 * the request's `task`, the row at `index`, the row that `seed` selects, the next row of the split.
 * @throws TaskError for an unknown split or index
 */
function startOf({ task, split, index, seed, episode_id: id }: Reset, tasks: Tasks): Start {
  const facts = { episode_id: id ?? null };
  if (task !== undefined) return { row: task, seed: seed ?? 0, facts: { ...facts, seed } };
  const place = index ?? tasks.place(split, seed ?? undefined);
  const start = seed ?? deriveSeed(place, split);
  return {
    row: tasks.row(split, place),
    seed: start,
    facts: { ...facts, split, index: place, seed: start },
  };
}

function actionOf(data: Exclude<z.infer<typeof actionSchema>, { type: 'list_tools' }>): Action {
  return 'message' in data
    ? { type: 'text', text: data.message }
    : { type: 'tool', name: data.tool_name, arguments: data.arguments };
}

const observed = (observation: unknown, reward: number | null, done: boolean): Reply => ({
  type: 'observation',
  data: { observation, reward, done },
});

function listed({ tools = [] }: GuardedEpisode): Reply {
  const list = tools.map(({ function: { name, description, parameters } }) => ({
    name,
    description: description ?? '',
    input_schema: parameters ?? { type: 'object', properties: {} },
  }));
  return observed({ tools: list, metadata: {} }, null, false);
}

const textReply = (result: StepResult): Reply =>
  observed(
    { message: result.observation, metadata: flagsOf(result) },
    result.reward ?? null,
    result.done,
  );

const flagsOf = ({ refused = false, truncated = false }: StepResult) => ({ refused, truncated });

function toolReply(name: string, result: StepResult, { episode }: Current): Reply {
  const { observation: text, refused = false, reward, done } = result;
  const isKnown = episode.tools?.some((tool) => tool.function.name === name) ?? false;
  const error = { error_type: isKnown ? 'invalid_args' : 'tool_not_found', message: text };
  const content = { content: [{ type: 'text', text }], data: text, is_error: false };
  const told = refused ? { result: null, error } : { result: content, error: null };
  return observed({ tool_name: name, ...told, metadata: flagsOf(result) }, reward ?? null, done);
}

export const problem = (code: string, message: string, more: object = {}): Reply => ({
  type: 'error',
  data: { message, code, ...more },
});

const invalid = ({ issues }: z.ZodError): Reply =>
  problem('VALIDATION_ERROR', 'Invalid message', {
    errors: issues.map(({ code, path, message }) => ({ type: code, loc: path, msg: message })),
  });
