/** Source of Braintrust rows from an experiment or data set, with scores for the output. */
import { unwrapped } from '../messages/json-text.js';
import { isJson, isPresent } from '../record/item.js';
import { has, meanScore, readAnswer, readPrompt, type Source } from './source.js';

export const braintrust: Source = {
  looksFor: 'input with expected or scores',
  detect: (record) =>
    has(record, 'input') && ('expected' in record || isJson(unwrapped(record['scores']))),
  read: (record) => {
    const { input, output, expected, scores } = record;
    const answer = isPresent(output) ? readAnswer(output) : [];
    const given = unwrapped(scores);
    const messages = [...readPrompt(input), ...answer];
    const score = meanScore(isJson(given) ? Object.values(given) : []);
    return [{ messages, ...(isPresent(expected) && { truth: expected }), ...score }];
  },
};
