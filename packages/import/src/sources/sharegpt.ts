/**
 * Source of ShareGPT conversations, which consist of `{from, value}`, with LLaMA-Factory's tools
 * and preference pairs.
 */
import { readMessages } from '../messages/read-messages.js';
import { readTools } from '../messages/tool-calls.js';
import { has, readAnswer, type Source } from './source.js';

export const sharegpt: Source = {
  looksFor: 'conversations',
  detect: (record) => has(record, 'conversations'),
  read: (record) => {
    const { system } = record;
    const turns = readMessages(record['conversations']);
    const messages =
      typeof system === 'string' && system !== '' && turns[0]?.role !== 'system'
        ? [{ role: 'system' as const, content: system }, ...turns]
        : turns;
    const tools = readTools(record['tools']);
    const shared = tools ? { tools } : {};
    if (!has(record, 'chosen', 'rejected')) return [{ messages, ...shared }];
    const [chosen, rejected] = [readAnswer(record['chosen']), readAnswer(record['rejected'])];
    return [{ prompt: messages, chosen, rejected, ...shared }];
  },
  hasReferences: true,
};
