/** Environments written in Python. */
import { createRequire } from 'node:module';
import path from 'node:path';
import { ConfigError, EnvironmentError } from '@trinity-rft/core';
import { z } from 'zod';
import { rowsOfSplit } from '../../native/splits.js';
import { defineEnvironment } from '../../seam/define.js';
import type { Environment, Episode, EpisodeStart, Untimed } from '../../seam/types.js';
import { endsOnce } from '../../seam/ends-once.js';
import { markEval } from '../shared/eval-rows.js';
import { createStartCheck } from '../shared/starts.js';
import { untimedOf } from '../../waiting/deadline-clock.js';
import { abortable, broken } from '../../waiting/within.js';
import { type PythonArgs, pythonArgs } from './args.js';
import { neverMade, type Bridge, type BridgeOptions } from './bridge.js';
import { createBridges } from './bridges.js';

/**
 * Environment that plays Python environments: Gymnasium, TextArena, Reasoning Gym, TextWorld,
 * ScienceWorld, and custom ones.
 */
export const python = defineEnvironment<PythonArgs>({
  name: 'python',
  description: 'Environments in Python: Gymnasium, TextArena, Reasoning Gym, TextWorld, others.',
  args: pythonArgs,
  needs: ({ kind, python: program, path: folder }) => ({
    python: { program, modules: [moduleOf(kind)], path: path.resolve(folder) },
  }),
  open: (args, { signal }) =>
    openBridged(args, { command: args.python, args: ['-u', script()] }, signal),
  tasks: (range, { kind }) => {
    const rows = rowsOfSplit(range, (seed) => ({ seed }), JSON.stringify);
    return kind === 'scienceworld' ? markEval(range, rows) : rows;
  },
});

/**
 * Returns the Python module that provides environments of a kind. Built-in kinds have the name of
 * their module.
 */
const moduleOf = (kind: string): string => kind.split(':')[0] ?? kind;

/**
 * Returns the path of the Python script that hosts environments. The script is in a folder next to
 * `src` and `dist`.
 */
export function script(): string {
  const manifest = createRequire(import.meta.url).resolve('@trinity-rft/environment/package.json');
  return path.join(path.dirname(manifest), 'python', 'bridge.py');
}

/**
 * Opens a Python environment. Starts the first process immediately, to report a missing package
 * early.
 * @param program command that speaks the protocol of python/bridge.py
 * @throws ConfigError if the program or a module is missing, or if the environment cannot be made
 * with these arguments; CancelledError if `stopped` aborts; EnvironmentError for other failures
 */
export async function openBridged(
  args: PythonArgs,
  program: BridgeOptions,
  stopped: AbortSignal,
): Promise<Environment> {
  const { kind, name = null, config, processes } = args;
  const startMs = args.start_timeout * 1000;
  const params = { kind, name, config, path: path.resolve(args.path) };
  const bridges = createBridges({ program, processes, params, startMs });
  const checkStart = createStartCheck(`The ${kind} environment ${name ?? ''}`.trim());
  let episodes = 0;
  try {
    await abortable(bridges.some(), stopped);
  } catch (error) {
    bridges.close();
    const isMistake = error instanceof EnvironmentError && error.code === neverMade;
    throw isMistake ? new ConfigError(error.message, { code: 'ENVIRONMENT_ARGS' }) : error;
  }
  return {
    reset: async (start, signal) => {
      const untimed = untimedOf(start);
      const bridge = await untimed(() => abortable(bridges.some(), signal).catch(mayPass));
      const session = { bridge, episode: `e${++episodes}`, untimed };
      const call = ask(session, 'reset', { seed: seedOf(start), task: start.row }, startMs);
      try {
        const answer = readAs(resetSchema, await abortable(call, signal), kind, 'reset');
        if (args.check_starts) checkStart(start, answer.observation);
        return endsOnce(`The ${kind} environment`, bridgedEpisode(session, answer, args));
      } catch (error) {
        forget(session);
        throw error;
      }
    },
    close: async () => bridges.close(),
  };
}

/**
 * Throws an EnvironmentError in place of a ConfigError of a process that is started again: the first
 * one was made from the same program and arguments.
 */
function mayPass(error: unknown): never {
  throw error instanceof ConfigError ? broken(error.code, error.message) : error;
}

/**
 * Returns the seed of an episode: the row's `seed`, which generated rows have, otherwise the seed
 * of the start.
 */
function seedOf({ row, seed }: EpisodeStart): number {
  const own = row['seed'];
  return Number.isSafeInteger(own) ? (own as number) : seed;
}

const resetSchema = z.object({
  observation: z.string(),
  info: z.object({ instructions: z.string().optional() }).default({}),
});
const stepSchema = z.object({
  observation: z.string(),
  reward: z.number().nullish(),
  done: z.boolean(),
  info: z
    .object({ refused: z.boolean().optional(), truncated: z.boolean().optional() })
    .default({}),
});

/**
 * Validates a response from the Python process.
 * @throws EnvironmentError if the response does not fit the schema
 */
function readAs<T>(schema: z.ZodType<T>, answer: unknown, kind: string, method: string): T {
  const read = schema.safeParse(answer);
  if (read.success) return read.data;
  throw broken(
    'ENVIRONMENT_ANSWER',
    `The ${kind} environment answered "${method}" with what is none of an observation (a text), reward (a number) and done: ${z.prettifyError(read.error)}`,
  );
}

/** An episode in a Python process. */
interface Session {
  readonly bridge: Bridge;
  readonly episode: string;
  readonly untimed: Untimed;
}

const ask = ({ bridge, episode, untimed }: Session, method: string, params: object, ms: number) =>
  bridge.call(method, { episode, ...params }, ms, untimed);

function bridgedEpisode(
  session: Session,
  { observation, info }: z.infer<typeof resetSchema>,
  { kind, instructions = info.instructions, timeout }: PythonArgs,
): Episode {
  const ms = timeout * 1000;
  let [isOpen, hasReward] = [true, false];
  return {
    observation,
    instructions,
    step: async (action, signal) => {
      if (action.type === 'tool') return { observation: noTools, done: false, refused: true };
      const call = ask(session, 'step', { action: action.text }, ms);
      const result = readAs(stepSchema, await abortable(call, signal), kind, 'step');
      const reward = result.reward ?? undefined;
      hasReward ||= reward !== undefined;
      if (result.done && !hasReward && result.info.truncated !== true) throw noVerdict(kind);
      return { observation: result.observation, reward, done: result.done, ...flags(result.info) };
    },
    close: async () => {
      if (isOpen) forget(session);
      isOpen = false;
    },
  };
}

/**
 * Tells the process to free an episode. Ignores errors, because a process that has ended hosts no
 * episodes.
 */
function forget(session: Session): void {
  ask(session, 'close', {}, closeMs).catch(() => undefined);
}

const closeMs = 60_000;

const noTools = 'There are no tools here: write the action.';

const flags = ({ refused, truncated }: z.infer<typeof stepSchema>['info']) => ({
  refused,
  truncated,
});

const noVerdict = (kind: string) =>
  broken('ENVIRONMENT_NO_VERDICT', `The ${kind} environment ended an episode without a reward.`);
