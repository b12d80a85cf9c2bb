/**
 * Source of Alpaca rows, each with an instruction, its input and its output, and of LLaMA-Factory's
 * pairs, with two outputs.
 */
import type { ChatMessage } from '@trinity-rft/core';
import { fault } from '../record/fault.js';
import type { Json } from '../record/item.js';
import { toolsOf } from './openai.js';
import { has, messagesIn, withSystem, type Source } from './source.js';

export const alpaca: Source = {
  looksFor: 'instruction and output; or instruction, chosen and rejected',
  detect: (record) => has(record, 'instruction') && (has(record, 'output') || isPair(record)),
  read: (record) => {
    const texts = ['instruction', 'input'].map((key) => textAt(record, key, ''));
    const content = texts.filter((text) => text !== '').join('\n');
    if (content === '') throw fault('the instruction and the input are empty');
    const question: ChatMessage = { role: 'user', content };
    const prompt = withSystem(record['system'], [...historyOf(record['history']), question]);
    const tools = toolsOf(record);
    if (!isPair(record)) return [{ messages: [...prompt, answerAt(record, 'output')], ...tools }];
    const [chosen, rejected] = [[answerAt(record, 'chosen')], [answerAt(record, 'rejected')]];
    return [{ prompt, chosen, rejected, ...tools }];
  },
  hasReferences: true,
};

/** TRL's pairs may have an instruction too, but messages as their answers. */
const isPair = (record: Json): boolean =>
  !has(record, 'prompt') &&
  ['chosen', 'rejected'].every((key) => typeof messagesIn(record[key]) === 'string');

const answerAt = (record: Json, key: string): ChatMessage => ({
  role: 'assistant',
  content: textAt(record, key),
});

function textAt(record: Json, key: string, otherwise?: string): string {
  const text = record[key] ?? otherwise;
  if (typeof text !== 'string') throw fault(`${key} is not a text`, text);
  return text;
}

/** Returns the earlier turns, which Alpaca stores as pairs of strings. */
function historyOf(history: unknown): readonly ChatMessage[] {
  if (!Array.isArray(history)) return [];
  return history.flatMap((turn: unknown): readonly ChatMessage[] => {
    const [question, answer] = Array.isArray(turn) ? (turn as readonly unknown[]) : [];
    if (typeof question !== 'string' || typeof answer !== 'string')
      throw fault('history is not a list of pairs of texts', turn);
    return [
      { role: 'user', content: question },
      { role: 'assistant', content: answer },
    ];
  });
}
