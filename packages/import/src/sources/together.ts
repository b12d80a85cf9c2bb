/** Files for Together's fine-tuning: OpenAI's formats, and prompt and completion as strings. */
import { fault } from '../record/fault.js';
import { isPresent } from '../record/item.js';
import { readRow, toolsOf } from './openai.js';
import { has, readAnswer, readPrompt, withSystem, type Source } from './source.js';

export const together: Source = {
  looksFor: 'prompt and completion',
  detect: (record) => has(record, 'prompt', 'completion') || has(record, 'text'),
  read: (record) => {
    const { prompt, completion, system } = record;
    if (isPresent(prompt) && isPresent(completion)) {
      const messages = [...withSystem(system, readPrompt(prompt)), ...readAnswer(completion)];
      return [{ messages, ...toolsOf(record) }];
    }
    if (has(record, 'text'))
      throw fault('a plain text has no turns; algorithm_type: cpt trains it as it is');
    return readRow(record);
  },
  hasReferences: true,
};
