import type { RawTask, ToolDefinition } from '@trinity-rft/core';
import {
  type Action,
  defineEnvironment,
  nativeEnvironment,
  rowsOfSplit,
  type TaskRange,
  type ToolAction,
  type World,
} from '@trinity-rft/environment';
import { z } from 'zod';
import { playing, refuse } from '../shared/actions.js';
import { readRow } from '../shared/row.js';
import { areRightCalls, type Call } from './check-calls.js';
import { drawRow } from './generate-rows.js';
import { rowsOfLevel, type ToolCallRow } from './rows.js';

const argsSchema = z.strictObject({
  /** Difficulty. 1: one function; 2: one of several functions; 3: several calls. */
  level: z.int().min(1).max(3).default(2),
  /**
   * Source of the tasks. 'bfcl': 370 rows of the leaderboard; 'generated': any number of generated
   * requests that use twelve tools.
   */
  rows: z.enum(['bfcl', 'generated']).default('bfcl'),
});

const parameter = z.looseObject({
  type: z.string(),
  items: z.looseObject({ type: z.string() }).optional(),
});
const rowSchema = z.object({
  id: z.string().default(''),
  question: z.string(),
  functions: z
    .array(
      z.object({
        name: z.string(),
        description: z.string().default(''),
        parameters: z.looseObject({
          properties: z.record(z.string(), parameter),
          required: z.array(z.string()).default([]),
        }),
      }),
    )
    .min(1),
  answers: z.array(z.record(z.string(), z.record(z.string(), z.array(z.unknown())))).min(1),
});

/** Tool calls of the Berkeley Function Calling Leaderboard, graded by its rules. */
export const toolCall = defineEnvironment({
  name: 'tool_call',
  description: 'Call the right tools with the right arguments, once.',
  args: argsSchema,
  rows: rowSchema,
  play: { maxTurns: 4, reward: 'sum' },
  open: () => nativeEnvironment(({ row }) => callWorld(readRow(rowSchema, row, 'tool_call'))),
  tasks: (range, { level, rows }) =>
    rows === 'generated' ? generated(range, level) : bfcl(range, level),
  solver: ({ row }) => playing(rightCalls(row)),
});

function bfcl(range: TaskRange, level: number): readonly RawTask[] {
  const rows = rowsOfLevel(level);
  return rowsOfSplit(
    range,
    (seed) => ({ ...rows[seed % rows.length] }),
    ({ id, question }) => `${String(id)} ${String(question)}`,
  );
}

const generated = (range: TaskRange, level: number): readonly RawTask[] =>
  rowsOfSplit(
    range,
    (seed) => ({ ...drawRow(level, seed) }),
    ({ question }) => String(question),
  );

/**
 * Creates an episode that records tool calls without executing them. The episode ends with a
 * message that calls no tool or that reaches the expected number of calls; all calls of the episode
 * are graded. A call of a tool that does not exist, beside a call that is recorded, counts as
 * wrong.
 */
function callWorld({ question, functions, answers }: ToolCallRow): World {
  const names = new Map(functions.map(({ name }) => [toolName(name), name]));
  const calls: Call[] = [];
  let hasRefused = false;
  const verdict = () => (!hasRefused && areRightCalls(functions, calls, answers) ? 1 : 0);
  const note = (name: string, { arguments: given, more = 0, refused = 0 }: ToolAction) => {
    calls.push({ name, arguments: given });
    hasRefused ||= refused > 0;
    const done = calls.length >= answers.length && more === 0;
    return { observation: 'Noted.', reward: done ? verdict() : 0, done };
  };
  return {
    instructions: 'Call the tools that the request needs, all of them, each once.',
    observation: question,
    tools: functions.map(toolOf),
    step: (action) => {
      if (action.type === 'text')
        return { observation: 'No tool was called.', reward: verdict(), done: true };
      const name = names.get(action.name);
      if (name !== undefined) return note(name, action);
      return refuse(`There is no tool ${action.name}. There are ${[...names.keys()].join(', ')}.`);
    },
    grade: verdict,
    stateKey: () => JSON.stringify([calls, hasRefused]),
  };
}

/**
 * Returns the tool name with dots replaced by underscores, because model servers do not accept
 * dots.
 */
const toolName = (name: string): string => name.replaceAll('.', '_');

const toolOf = ({
  name,
  description,
  parameters,
}: ToolCallRow['functions'][number]): ToolDefinition => ({
  type: 'function',
  function: {
    name: toolName(name),
    description,
    parameters: jsonSchema(parameters) as Readonly<Record<string, unknown>>,
  },
});

const jsonTypes: Readonly<Record<string, string>> = {
  dict: 'object',
  float: 'number',
  tuple: 'array',
  any: 'string',
};

/** Converts BFCL's parameter schema to JSON Schema by replacing the type names. */
function jsonSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(jsonSchema);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      key === 'type' && typeof each === 'string' ? (jsonTypes[each] ?? each) : jsonSchema(each),
    ]),
  );
}

/**
 * Returns the actions that make the expected calls, using the first accepted value of each required
 * argument.
 */
function rightCalls(row: RawTask): readonly Action[] {
  return readRow(rowSchema, row, 'tool_call').answers.flatMap((answer) =>
    Object.entries(answer).map(([name, values]): Action => {
      const needed = Object.entries(values).filter(([, possible]) => !possible.includes(''));
      const given = needed.map(([key, possible]) => [key, firstOf(possible[0])] as const);
      return { type: 'tool', name: toolName(name), arguments: Object.fromEntries(given) };
    }),
  );
}

/**
 * Returns a value without alternatives: each key of an object has the first of its accepted values,
 * and optional keys are omitted.
 */
function firstOf(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((each: unknown) => (Array.isArray(each) ? each : firstOf(each)));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value as Readonly<Record<string, readonly unknown[]>>);
  return Object.fromEntries(
    entries.filter(([, possible]) => !possible.includes('')).map(([key, [first]]) => [key, first]),
  );
}
