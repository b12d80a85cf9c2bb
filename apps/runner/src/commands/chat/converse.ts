/** A conversation in the terminal with one model, or with two side by side. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { describeError } from '@trinity-rft/core';
import type { ChatMessages, ChatRequest, LocalModel } from '@trinity-rft/local';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import type { Write } from '../../shared/command.js';

type ToolCall = Extract<
  Awaited<ReturnType<ReturnType<LocalModel['stream']>['next']>>['value'],
  { readonly type: 'tool-call' }
>['toolCall'];

/** A model in the conversation, with the label that its responses are shown under. */
export interface Talker {
  readonly label: string;
  readonly model: Pick<LocalModel, 'stream'>;
}

export interface Talk {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly request: ChatRequest;
  readonly system: string | undefined;
  readonly write: Write;
  /**
   * Width of the terminal in columns; undefined if the output is a pipe. In a pipe, responses are
   * shown one after the other instead of side by side.
   */
  readonly columns: number | undefined;
}

/**
 * Sends each line of the input to all talkers, until `/exit` or the end of the input; `/reset`
 * clears the histories.
 */
export async function converse(talkers: readonly Talker[], talk: Talk): Promise<void> {
  const { input, system, write } = talk;
  const isTerminal = input.isTTY === true;
  const lines = createInterface({ input, ...(isTerminal && { output: process.stdout }) });
  const next = lines[Symbol.asyncIterator]();
  const ask: Ask = async (prompt) => {
    if (isTerminal) write(prompt);
    const { value, done } = await next.next();
    return done === true ? undefined : value;
  };
  const start = (): ChatMessages[] =>
    talkers.map(() => (system === undefined ? [] : [{ role: 'system', content: system }]));
  let histories = start();
  try {
    for (;;) {
      const line = (await ask('> '))?.trim();
      if (line === undefined || line === '/exit') return;
      if (line === '/reset') histories = start();
      else if (line !== '')
        histories = await answerAll(talkers, histories, line, { ...talk, lines, ask });
    }
  } finally {
    lines.close();
  }
}

type Ask = (prompt: string) => Promise<string | undefined>;

interface Turn extends Talk {
  readonly lines: ReturnType<typeof createInterface>;
  readonly ask: Ask;
}

/**
 * Gets the response of each model to the user's message. Asks the user for the results of the tools
 * that a model calls.
 * @returns the history of each model, unchanged if the model gave no complete response
 */
async function answerAll(
  talkers: readonly Talker[],
  before: readonly ChatMessages[],
  content: string,
  turn: Turn,
): Promise<ChatMessages[]> {
  const histories = [...before];
  let waiting = talkers.map((talker, i) => ({
    talker,
    i,
    messages: [...(before[i] ?? []), { role: 'user' as const, content }] as ChatMessages,
  }));
  while (waiting.length > 0) {
    const answers: (Answer | undefined)[] = [];
    for (const { talker, messages } of waiting)
      answers.push(await answer(talker, messages, { ...turn, isAlone: talkers.length === 1 }));
    if (turn.columns !== undefined && talkers.length > 1)
      turn.write(
        sideBySide(
          waiting.map(({ talker }, k) => ({ title: talker.label, text: answers[k]?.shown ?? '' })),
          turn.columns,
        ),
      );
    const calling: typeof waiting = [];
    for (const [k, one] of waiting.entries()) {
      const given = answers[k];
      if (given === undefined) continue;
      const messages = [...one.messages, given.message];
      const results = await resultsOf(given.calls, one.talker, talkers.length, turn);
      if (results === undefined) continue;
      if (results.length === 0) histories[one.i] = messages;
      else calling.push({ ...one, messages: [...messages, ...results] });
    }
    waiting = calling;
  }
  return histories;
}

/**
 * Asks the user for tool results.
 * @returns undefined if the input ended before the last result
 */
async function resultsOf(
  calls: readonly ToolCall[],
  { label }: Talker,
  talkers: number,
  { ask, write }: Turn,
): Promise<ChatMessages | undefined> {
  const results: ChatMessages[number][] = [];
  for (const call of calls) {
    const whose = talkers === 1 ? '' : ` for ${label}`;
    const content = await ask(`result of ${call.function.name}${whose}: `);
    if (content === undefined) {
      write('(the input ended before the result of a tool call)\n');
      return undefined;
    }
    results.push({ role: 'tool', tool_call_id: call.id, content });
  }
  return results;
}

interface Answer {
  readonly message: ChatMessages[number];
  readonly calls: readonly ToolCall[];
  readonly shown: string;
}

/**
 * Streams a response to the terminal until it is complete or the user presses Ctrl-C. If responses
 * will be shown side by side, only shows the number of characters received so far.
 * @returns undefined if the response was stopped or failed
 */
async function answer(
  { label, model }: Talker,
  messages: ChatMessages,
  { request, write, lines, columns, isAlone }: Turn & { readonly isAlone: boolean },
): Promise<Answer | undefined> {
  const stop = new AbortController();
  const onInterrupt = (): void => stop.abort();
  lines.once('SIGINT', onInterrupt);
  const isCollected = !isAlone && columns !== undefined;
  let shown = '';
  const show = (piece: string): void => {
    shown += piece;
    write(isCollected ? `\r${label}: ${shown.length} characters` : piece);
  };
  if (!isAlone && !isCollected) write(`[${label}] `);
  let text = '';
  let hasReasoned = false;
  const calls: ToolCall[] = [];
  try {
    for await (const part of model.stream(messages, { ...request, signal: stop.signal })) {
      if (part.type === 'text') {
        show(text === '' && hasReasoned ? `\n${part.text}` : part.text);
        text += part.text;
      } else if (part.type === 'reasoning') {
        show(dim(hasReasoned ? part.text : `(thinks) ${part.text}`));
        hasReasoned = true;
      } else if (part.type === 'tool-call') {
        const { name, arguments: given } = part.toolCall.function;
        show(`${shown === '' ? '' : '\n'}-> ${name}(${given})`);
        calls.push(part.toolCall);
      }
    }
    write(isCollected ? clearLine : '\n');
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
  return { message, calls, shown };
}

const clearLine = '\r\u001B[2K';

/** Arranges texts in columns of equal width, each text under its title. */
export function sideBySide(
  texts: readonly { readonly title: string; readonly text: string }[],
  columns: number,
): string {
  const width = Math.floor(columns / texts.length) - 2;
  const cells = texts.map(({ title, text }) =>
    wrapAnsi(`[${title}]\n${text}`, width, { hard: true }).split('\n'),
  );
  const rows = Array.from({ length: Math.max(...cells.map((lines) => lines.length)) }, (_, row) =>
    cells
      .map((lines) => lines[row] ?? '')
      .map((cell) => cell + ' '.repeat(Math.max(0, width - stringWidth(cell))))
      .join('  ')
      .trimEnd(),
  );
  return `${rows.join('\n')}\n`;
}

const dim = (text: string): string =>
  process.stdout.isTTY === true ? `\u001B[2m${text}\u001B[22m` : text;
