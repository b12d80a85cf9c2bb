/** Source of Braintrust rows from an experiment or data set, with scores for the output. */
import { unwrapped } from '../messages/json-text.js';
import { isJson, isPresent } from '../record/item.js';
import { has, readAnswer, readPrompt, readScores, withScores, type Source } from './source.js';

export const braintrust: Source = {
  looksFor: 'input with expected or scores',
  detect: (record) =>
    has(record, 'input') && ('expected' in record || isJson(unwrapped(record['scores']))),
  read: (record) => {
    const { input, output, expected, scores } = record;
    const answer = isPresent(output) ? readAnswer(output) : [];
    const given = unwrapped(scores);
    const messages = [...readPrompt(input), ...answer];
    const item = { messages, ...(isPresent(expected) && { truth: expected }) };
    return [withScores(item, readScores(isJson(given) ? Object.entries(given) : []))];
  },
};
