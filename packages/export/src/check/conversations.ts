/**
 * Conversations that a check compares by default: plain, with a system message, with several turns,
 * with tools.
 */
import { readFile } from 'node:fs/promises';
import { normalizeMessages, type NormalMessage } from '@trinity-rft/chat';
import { describeError, TaskError, type ToolDefinition } from '@trinity-rft/core';
import type { PlayedPrompt } from './player.js';

const weather: ToolDefinition = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Current weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', description: 'Name of the city' } },
      required: ['city'],
    },
  },
};

const call = {
  id: 'call12345',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Oslo"}' },
} as const;

const user = (content: string): NormalMessage => ({ role: 'user', content });
const assistant = (content: string): NormalMessage => ({ role: 'assistant', content });
const system: NormalMessage = { role: 'system', content: 'Answer in one short sentence.' };

/** Conversations to compare. Those that a chat template rejects are skipped. */
export const conversations: readonly PlayedPrompt[] = [
  { messages: [user('What is 17 + 25?')], tools: undefined },
  { messages: [system, user('Name a city in Norway.')], tools: undefined },
  {
    messages: [user('1 + 1 = ?'), assistant('2'), user('And 2 + 2?')],
    tools: undefined,
  },
  {
    messages: [
      system,
      user('Hi!\n\n  Indented, "quoted" & <tagged>.'),
      assistant('Hello.'),
      user('Größe: 1.5 µm, 東京 😀'),
    ],
    tools: undefined,
  },
  { messages: [user('How is the weather in Oslo?')], tools: [weather] },
  {
    messages: [
      user('How is the weather in Oslo?'),
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', content: '4 degrees, rain', tool_call_id: call.id },
    ],
    tools: [weather],
  },
];

/**
 * Reads prompts from a JSON lines file. A row has `messages` (and `tools`), or a string under
 * `promptKey` (default: `prompt`, otherwise `question`).
 * @throws TaskError naming the line
 */
export async function readPrompts(
  file: string,
  promptKey?: string,
): Promise<readonly PlayedPrompt[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new TaskError(
      `--check ${file} cannot be read. Name a file with one JSON object per line.`,
      {
        code: 'CHECK_FILE',
        cause,
      },
    );
  });
  const prompts = text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .flatMap((line, i) =>
      line.trim() === '' ? [] : [promptOf(line, `${file}:${i + 1}`, promptKey)],
    );
  if (prompts.length > 0) return prompts;
  throw new TaskError(`--check ${file} holds no rows.`, { code: 'CHECK_FILE' });
}

function promptOf(line: string, place: string, promptKey?: string): PlayedPrompt {
  let row: Readonly<Record<string, unknown>> | null;
  try {
    row = JSON.parse(line) as Readonly<Record<string, unknown>> | null;
  } catch (cause) {
    throw new TaskError(`${place} is not JSON: ${describeError(cause)}`, {
      code: 'CHECK_FILE',
      cause,
    });
  }
  const { messages, tools } = row ?? {};
  if (messages !== undefined)
    return {
      messages: normalized(messages, place),
      tools: Array.isArray(tools) ? (tools as readonly ToolDefinition[]) : undefined,
    };
  const content =
    promptKey === undefined ? (row?.['prompt'] ?? row?.['question']) : row?.[promptKey];
  if (typeof content === 'string') return { messages: [user(content)], tools: undefined };
  throw new TaskError(
    `${place} has neither messages nor a text under ${promptKey === undefined ? 'prompt or question' : `"${promptKey}"`}.`,
    { code: 'CHECK_FILE' },
  );
}

function normalized(messages: unknown, place: string): readonly NormalMessage[] {
  try {
    return normalizeMessages(Array.isArray(messages) ? messages : []);
  } catch (cause) {
    throw new TaskError(`${place}: ${describeError(cause)}`, { code: 'CHECK_FILE', cause });
  }
}
