/** `trinity chat`: talk to a model in the terminal, or line by line through a pipe. */
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { ConfigError, describeError } from '@trinity-rft/core';
import type { ChatMessages, ChatRequest, LocalModel } from '@trinity-rft/local';
import type { AddCommand, Write } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';

interface ChatArguments {
  readonly compare?: string;
  readonly tools?: string;
  readonly system?: string;
  readonly temperature?: string;
  readonly maxTokens?: string;
  readonly seed?: string;
}

export const addChat: AddCommand = (program, { exitWith, write }) =>
  void program
    .command('chat <model>')
    .description('talk to a trained model in the terminal')
    .option('--compare <model>', '"base", or another model, whose answers are shown as well')
    .option(
      '--tools <file>',
      "JSON list of OpenAI's tool definitions; you give the results of calls",
    )
    .option('--system <text>', 'system message')
    .option('--temperature <number>', '0 = always the most probable token; default: 1')
    .option('--max-tokens <number>', 'length of an answer; default: as the model allows')
    .option('--seed <number>', 'equal seeds and messages give equal answers; default: random')
    .addHelpText(
      'after',
      `
<model> is the folder of a run (its best checkpoint by evaluation, else the last), a checkpoint, a model
folder, a GGUF file, or the folder of an export. Lines: /reset begins again, /exit ends. Through a pipe,
each line is a message.`,
    )
    .action(exitWith((model: string, given: ChatArguments) => chatCommand(model, given, write)));

async function chatCommand(named: string, given: ChatArguments, write: Write): Promise<number> {
  const { findModel, loadModel } = await import('@trinity-rft/local');
  const request = await requestOf(given);
  const seed = numberOf('--seed', given.seed);
  const place = await findModel(named);
  const models = [await loadModel(named, { seed })];
  try {
    if (place.choice !== undefined) write(`${place.choice}\n`);
    if (given.compare !== undefined) {
      const other = given.compare === 'base' ? baseOf(place.run?.base, named) : given.compare;
      models.push(await loadModel(other, { seed, chat: place.chat, name: given.compare }));
    }
    await converse(models, { request, system: given.system, write });
    return exitCodes.done;
  } finally {
    for (const model of models) await model.close();
  }
}

function baseOf(base: string | undefined, named: string): string {
  if (base !== undefined) return base;
  throw new ConfigError(
    `--compare base: ${named} is no checkpoint of a run, so its base is not known. Name the other model: --compare MODEL`,
    { code: 'ARGUMENT_INVALID' },
  );
}

async function requestOf(given: ChatArguments): Promise<ChatRequest> {
  const temperature = numberOf('--temperature', given.temperature);
  const maxTokens = numberOf('--max-tokens', given.maxTokens);
  const tools = given.tools === undefined ? undefined : await readTools(given.tools);
  return {
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(tools && { tools }),
  };
}

function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new ConfigError(`${option} is "${text}". Expected a number of at least 0.`, {
    code: 'ARGUMENT_INVALID',
  });
}

async function readTools(file: string): Promise<NonNullable<ChatRequest['tools']>> {
  try {
    const tools: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (Array.isArray(tools) && tools.length > 0) return tools as NonNullable<ChatRequest['tools']>;
  } catch (cause) {
    throw new ConfigError(`--tools ${file} cannot be read as JSON: ${describeError(cause)}`, {
      code: 'TOOLS_FILE',
      cause,
    });
  }
  throw new ConfigError(
    `--tools ${file} is no list. Expected [{"type": "function", "function": {"name": ..., "parameters": ...}}].`,
    { code: 'TOOLS_FILE' },
  );
}

interface Conversation {
  readonly request: ChatRequest;
  readonly system: string | undefined;
  readonly write: Write;
}

/** Each model has a history of its own: its answers are part of it. */
async function converse(models: readonly LocalModel[], talk: Conversation): Promise<void> {
  const { system, write } = talk;
  const isTerminal = process.stdin.isTTY === true;
  const lines = createInterface({
    input: process.stdin,
    ...(isTerminal && { output: process.stdout }),
  });
  const next = lines[Symbol.asyncIterator]();
  const ask = async (prompt: string): Promise<string | undefined> => {
    if (isTerminal) write(prompt);
    const { value, done } = await next.next();
    return done === true ? undefined : value;
  };
  const start = (): ChatMessages[] =>
    models.map(() => (system === undefined ? [] : [{ role: 'system', content: system }]));
  let histories = start();
  try {
    for (;;) {
      const line = await ask('> ');
      if (line === undefined || line.trim() === '/exit') return;
      if (line.trim() === '/reset') {
        histories = start();
        continue;
      }
      if (line.trim() === '') continue;
      for (const [i, model] of models.entries()) {
        const history = [...(histories[i] ?? []), { role: 'user' as const, content: line }];
        if (models.length > 1) write(`[${i === 0 ? 'trained' : model.name}] `);
        histories[i] =
          (await answer(model, history, { ...talk, lines, ask })) ?? histories[i] ?? [];
      }
    }
  } finally {
    lines.close();
  }
}

interface Turn extends Conversation {
  readonly lines: ReturnType<typeof createInterface>;
  readonly ask: (prompt: string) => Promise<string | undefined>;
}

/**
 * Streams an answer, and asks for the results of its tool calls; Ctrl-C ends the answer.
 * @returns the conversation with it; undefined when there is none, so that the question is forgotten
 */
async function answer(
  model: LocalModel,
  messages: ChatMessages,
  turn: Turn,
): Promise<ChatMessages | undefined> {
  const { request, write, lines, ask } = turn;
  const stop = new AbortController();
  const onInterrupt = (): void => stop.abort();
  lines.once('SIGINT', onInterrupt);
  let text = '';
  let hasReasoned = false;
  const calls = [];
  try {
    for await (const part of model.stream(messages, { ...request, signal: stop.signal })) {
      if (part.type === 'text') {
        if (text === '' && hasReasoned) write('\n');
        text += part.text;
        write(part.text);
      } else if (part.type === 'reasoning') {
        write(dim(hasReasoned ? part.text : `(thinks) ${part.text}`));
        hasReasoned = true;
      } else if (part.type === 'tool-call') {
        calls.push(part.toolCall);
        write(`${text === '' && calls.length === 1 ? '' : '\n'}${callLine(part.toolCall)}`);
      }
    }
    write('\n');
  } catch (error) {
    write(`\n${stop.signal.aborted ? '(stopped)' : describeError(error)}\n`);
    return undefined;
  } finally {
    lines.off('SIGINT', onInterrupt);
  }
  const message = {
    role: 'assistant' as const,
    content: text,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const history: ChatMessages = [...messages, message];
  if (calls.length === 0) return history;
  for (const call of calls) {
    const content = await ask(`result of ${call.function.name}: `);
    if (content === undefined) {
      write('(the input ended before the result of a tool call)\n');
      return undefined;
    }
    history.push({ role: 'tool', tool_call_id: call.id, content });
  }
  return answer(model, history, turn);
}

const callLine = ({
  function: { name, arguments: given },
}: {
  readonly function: { readonly name: string; readonly arguments: string };
}): string => `-> ${name}(${given})`;

const dim = (text: string): string =>
  process.stdout.isTTY === true ? `\u001B[2m${text}\u001B[22m` : text;
