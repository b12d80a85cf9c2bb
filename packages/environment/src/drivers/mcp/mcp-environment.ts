/**
 * Environments based on MCP servers. The server provides the tools, and a function computes the
 * reward.
 */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  describeError,
  TrinityError,
  type ArgsSchema,
  type RawTask,
  type ToolDefinition,
  TaskError,
} from '@trinity-rft/core';
import {
  defineEnvironment,
  type EnvironmentDefinition,
  type EnvironmentOptions,
} from '../../seam/define.js';
import type { Action, Environment, Episode, StepResult } from '../../seam/types.js';
import { endsOnce } from '../../seam/ends-once.js';
import { createSlots } from '../shared/slots.js';
import { broken, within } from '../../waiting/within.js';
import { connectMcp, type McpConnection } from './connection.js';
import type { McpServer } from './server.js';
import { folderNames, type FolderNames } from './folder-names.js';

/** A tool call of the policy, and the server's answer. */
export interface McpCall {
  readonly name: string;
  /** Arguments as the policy wrote them, with /workspace for the episode's folder. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Text of the answer, with /workspace for the episode's folder. */
  readonly result: string;
  readonly refused: boolean;
}

/** Data about an episode that is known when it starts. */
export interface McpStart {
  readonly row: RawTask;
  /** Seed of the episode: a 32-bit unsigned integer, equal for all rollouts of a task. */
  readonly seed: number;
  /**
   * Folder of this episode, initially empty and deleted at the end. The policy sees it as
   * /workspace.
   */
  readonly folder: string;
}

/** Data about an episode when it ends. */
export interface McpEnd extends McpStart {
  /** All calls sent to the server, in order. */
  readonly calls: readonly McpCall[];
  /** The policy's last message; undefined if the policy ran out of turns, tokens or time. */
  readonly answer: string | undefined;
}

export interface McpEnvironmentOptions<Args> extends Pick<
  EnvironmentOptions<Args>,
  'name' | 'description' | 'play' | 'tasks' | 'solver'
> {
  /** Schema of `environment_args`; see `EnvironmentOptions.args`. @default any arguments */
  readonly args?: ArgsSchema<Args>;
  /** Returns the MCP server of an episode, which is either a program to start or a URL. */
  readonly server: (start: McpStart, args: Args) => McpServer;
  /** Fills the episode's folder before the server starts. @default no files */
  readonly prepare?: (start: McpStart, args: Args) => Promise<void> | void;
  /**
   * Returns the first message to the policy.
   * @default the row's `prompt`
   */
  readonly prompt?: (start: McpStart, args: Args) => string;
  /** System prompt. @default no system prompt */
  readonly instructions?: string;
  /** Names of the tools that the policy may call. @default all tools of the server */
  readonly tools?: readonly string[] | ((args: Args) => readonly string[] | undefined);
  /**
   * Computes the reward at the end of the episode. It must be a finite number. If the function
   * throws, the episode fails.
   */
  readonly reward: (end: McpEnd, args: Args) => Promise<number> | number;
  /**
   * Maximum number of concurrent episodes. Each of them uses its own server. Further episodes wait.
   * @default 16
   */
  readonly maxServers?: number | ((args: Args) => number);
  /** Timeout for starting a server, in seconds. @default 60 */
  readonly startTimeout?: number;
  /** Timeout of each tool call, and of the reward function, in seconds. @default 120 */
  readonly timeout?: number;
}

/**
 * Declares an environment whose tools come from an MCP server. The policy calls tools until it
 * writes a message without tool calls, which ends the episode.
 * @throws ConfigError if the name is empty or has characters that are not allowed
 */
export function mcpEnvironment<Args = Readonly<Record<string, unknown>>>(
  options: McpEnvironmentOptions<Args>,
): EnvironmentDefinition {
  const { name, description, play, tasks, solver, args } = options;
  return defineEnvironment<Args>({
    name,
    description,
    play,
    tasks,
    solver,
    args,
    needs: () => ({ packages: ['@modelcontextprotocol/sdk'] }),
    open: (given) => openMcp(options, given),
  });
}

function openMcp<Args>(options: McpEnvironmentOptions<Args>, args: Args): Environment {
  const { server, prepare, startTimeout = 60, maxServers = 16 } = options;
  const limit = typeof maxServers === 'function' ? maxServers(args) : maxServers;
  const slots = createSlots(limit);
  let hasStarted = false;
  return {
    reset: async (from, signal) => {
      const { row, seed } = from;
      const free = await slots.take(from, { ms: waitMs, signal }, () => busy(options.name, limit));
      let folder: string | undefined;
      let connection: McpConnection | undefined;
      try {
        folder = await realpath(await mkdtemp(path.join(tmpdir(), 'trinity-mcp-')));
        const start: McpStart = { row, seed, folder };
        await prepare?.(start, args);
        const patience = { ms: startTimeout * 1000, signal };
        const observation = promptOf(options, args, start);
        connection = await connectMcp(server(start, args), folder, patience, !hasStarted);
        hasStarted = true;
        const begun = { start, observation, connection, free };
        return endsOnce(options.name, mcpEpisode(options, args, begun));
      } catch (error) {
        // The first error is reported, because it may also be the reason why the folder cannot be
        // deleted.
        await end(connection, folder).catch(() => undefined);
        free();
        throw error;
      }
    },
    // Each episode stops its own server.
    close: async () => undefined,
  };
}

interface Begun {
  readonly start: McpStart;
  readonly observation: string;
  readonly connection: McpConnection;
  /** Frees the episode's slot, so that a waiting episode can start. */
  readonly free: () => void;
}

/** Maximum wait for a free slot, in ms. */
const waitMs = 600_000;

const busy = (name: string, limit: number) =>
  broken(
    'ENVIRONMENT_CAPACITY',
    `All ${limit} servers of "${name}" were in use for ${waitMs / 1000} s. Raise their number, or lower explorer.runner_per_model.`,
  );

function mcpEpisode<Args>(
  options: McpEnvironmentOptions<Args>,
  args: Args,
  { start, observation, connection, free }: Begun,
): Episode {
  const { instructions, timeout = 120 } = options;
  const names = folderNames(start.folder);
  const tools = allowedTools(options, args, connection, names);
  const allowed = new Set(tools.map((tool) => tool.function.name));
  const calls: McpCall[] = [];
  let closing: Promise<void> | undefined;
  const patience = (signal: AbortSignal) => ({ ms: timeout * 1000, signal });

  const grade = async (answer: string | undefined, signal: AbortSignal): Promise<number> => {
    if (calls.length > 0) await connection.settle(patience(signal));
    const end = { ...start, calls: [...calls], answer };
    const late = () => noVerdict(options.name, `not within ${timeout} s`);
    return within(patience(signal), late, () => verdict(options, end, args));
  };

  async function step(action: Action, signal: AbortSignal): Promise<StepResult> {
    if (action.type === 'text')
      return { observation: '', reward: await grade(action.text, signal), done: true };
    const { name } = action;
    if (!allowed.has(name))
      return { observation: `There is no tool "${name}".`, done: false, refused: true };
    const given = names.real(action.arguments);
    const { text, refused } = await connection.call(name, given, patience(signal));
    const result = names.shown(text);
    calls.push({ name, arguments: action.arguments, result, refused });
    return { observation: result, done: false, refused };
  }

  return {
    observation: names.shown(observation),
    instructions,
    tools,
    step,
    grade: (signal) => grade(undefined, signal),
    close: () => (closing ??= end(connection, start.folder).finally(free)),
  };
}

async function end(connection?: McpConnection, folder?: string): Promise<void> {
  try {
    await connection?.close();
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

function promptOf<Args>(options: McpEnvironmentOptions<Args>, args: Args, start: McpStart): string {
  const { prompt = ownPrompt } = options;
  return prompt(start, args);
}

function ownPrompt({ row }: McpStart): string {
  const { prompt } = row;
  if (typeof prompt === 'string') return prompt;
  throw new TaskError('The task has no "prompt": add it to the row, or give mcpEnvironment one.', {
    code: 'TASK_ROW',
  });
}

/**
 * Returns the tools that the policy may call.
 * @throws EnvironmentError if the server lacks a tool named in `tools`
 */
function allowedTools<Args>(
  { name, tools: given }: McpEnvironmentOptions<Args>,
  args: Args,
  { tools }: McpConnection,
  names: FolderNames,
): readonly ToolDefinition[] {
  const allowed = typeof given === 'function' ? given(args) : given;
  const missing = allowed?.find((wanted) => !tools.some((tool) => tool.name === wanted));
  if (missing !== undefined)
    throw noTool(
      name,
      missing,
      tools.map((tool) => tool.name),
    );
  return tools
    .filter((tool) => allowed?.includes(tool.name) ?? true)
    .map(({ name: toolName, description, inputSchema }) => ({
      type: 'function',
      function: {
        name: toolName,
        description: description === undefined ? undefined : names.shown(description),
        parameters: inputSchema,
      },
    }));
}

const noTool = (name: string, missing: string, tools: readonly string[]) =>
  broken(
    'ENVIRONMENT_START_FAILED',
    `The MCP server of "${name}" has no tool "${missing}", only ${tools.join(', ')}.`,
  );

/**
 * Computes the reward of the episode.
 * @throws EnvironmentError if the reward function throws or returns no finite number
 */
async function verdict<Args>(
  { name, reward }: McpEnvironmentOptions<Args>,
  end: McpEnd,
  args: Args,
): Promise<number> {
  let value: number;
  try {
    value = await reward(end, args);
  } catch (cause) {
    if (TrinityError.is(cause)) throw cause;
    throw noVerdict(name, `it threw an error: ${describeError(cause)}`, cause);
  }
  if (Number.isFinite(value)) return value;
  throw noVerdict(name, `it returned ${value}, which is no finite number`);
}

const noVerdict = (name: string, why: string, cause?: unknown) =>
  broken(
    'ENVIRONMENT_NO_VERDICT',
    `The reward function of "${name}" gave no verdict: ${why}.`,
    cause,
  );
