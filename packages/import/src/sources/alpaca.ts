/** Source of Alpaca rows, each with an instruction, its input and its output. */
import type { ChatMessage } from '@trinity-rft/core';
import { fault } from '../record/fault.js';
import type { Json } from '../record/item.js';
import { has, withSystem, type Source } from './source.js';

export const alpaca: Source = {
  looksFor: 'instruction and output',
  detect: (record) => has(record, 'instruction', 'output'),
  read: (record) => {
    const [instruction, input] = [textAt(record, 'instruction'), textAt(record, 'input', '')];
    const messages: readonly ChatMessage[] = [
      ...historyOf(record['history']),
      { role: 'user', content: input === '' ? instruction : `${instruction}\n\n${input}` },
      { role: 'assistant', content: textAt(record, 'output') },
    ];
    return [{ messages: withSystem(record['system'], messages) }];
  },
  hasReferences: true,
};

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
