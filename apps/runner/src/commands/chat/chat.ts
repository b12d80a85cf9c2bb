/** `trinity chat`: talk to a model in the terminal, or line by line through a pipe. */
import { readFile } from 'node:fs/promises';
import { ConfigError, describeError } from '@trinity-rft/core';
import type { ChatRequest } from '@trinity-rft/local';
import type { AddCommand, Write } from '../../shared/command.js';
import { exitCodes } from '../../shared/exit-codes.js';
import { converse } from './converse.js';
import { integerOf, invalid, numberOf } from '../../shared/arguments.js';

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
    .option('--compare <model>', '"base", or another model, whose answers stand beside')
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
folder, a GGUF file, or the folder of an export to gguf, ollama or hf. Lines: /reset begins again, /exit
ends. Through a pipe, each line is a message.`,
    )
    .action(exitWith((model: string, given: ChatArguments) => chatCommand(model, given, write)));

async function chatCommand(named: string, given: ChatArguments, write: Write): Promise<number> {
  const { findModel, loadModel } = await import('@trinity-rft/local');
  const request = await requestOf(given);
  const seed = given.seed === undefined ? undefined : integerOf('--seed', given.seed);
  const place = await findModel(named);
  const models = [await loadModel(named, { seed })];
  try {
    if (place.choice !== undefined) write(`${place.choice}\n`);
    if (given.compare !== undefined) {
      const other = given.compare === 'base' ? baseOf(place.run?.base, named) : given.compare;
      models.push(await loadModel(other, { seed, chat: place.chat, name: given.compare }));
    }
    const talkers = models.map((model, i) => ({ label: i === 0 ? 'trained' : model.name, model }));
    const columns = process.stdout.isTTY ? process.stdout.columns : undefined;
    const { system } = given;
    await converse(talkers, { input: process.stdin, request, system, write, columns });
    return exitCodes.done;
  } finally {
    for (const model of models) await model.close();
  }
}

function baseOf(base: string | undefined, named: string): string {
  if (base !== undefined) return base;
  throw invalid(
    `--compare base: ${named} is no checkpoint of a run, so its base is not known. Name the other model: --compare MODEL`,
  );
}

async function requestOf(given: ChatArguments): Promise<ChatRequest> {
  const temperature =
    given.temperature === undefined ? undefined : numberOf('--temperature', given.temperature);
  const maxTokens =
    given.maxTokens === undefined ? undefined : integerOf('--max-tokens', given.maxTokens, 1);
  const tools = given.tools === undefined ? undefined : await readTools(given.tools);
  return {
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(tools && { tools }),
  };
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
