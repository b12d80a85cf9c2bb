/**
 * Source of ShareGPT conversations, which consist of `{from, value}`, with LLaMA-Factory's tools
 * and preference pairs.
 */
import { readMessages } from '../messages/read-messages.js';
import { toolsOf } from './openai.js';
import { has, readAnswer, withSystem, type Source } from './source.js';

export const sharegpt: Source = {
  looksFor: 'conversations',
  detect: (record) => has(record, 'conversations'),
  read: (record) => {
    const messages = withSystem(record['system'], readMessages(record['conversations']));
    const shared = toolsOf(record);
    if (!has(record, 'chosen', 'rejected')) return [{ messages, ...shared }];
    const [chosen, rejected] = [readAnswer(record['chosen']), readAnswer(record['rejected'])];
    return [{ prompt: messages, chosen, rejected, ...shared }];
  },
  hasReferences: true,
};
