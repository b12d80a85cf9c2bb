/** Files for Together's fine-tuning: OpenAI's formats, and prompt and completion as strings. */
import { fault } from '../record/fault.js';
import { readRow } from './openai.js';
import { has, readAnswer, readPrompt, type Source } from './source.js';

export const together: Source = {
  looksFor: 'prompt and completion',
  detect: (record) => has(record, 'prompt', 'completion') || has(record, 'text'),
  read: (record) => {
    if (has(record, 'prompt', 'completion'))
      return [{ messages: [...readPrompt(record['prompt']), ...readAnswer(record['completion'])] }];
    if (has(record, 'text'))
      throw fault('a plain text has no turns; algorithm_type: cpt trains it as it is');
    return readRow(record);
  },
  hasReferences: true,
};
