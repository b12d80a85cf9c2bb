/** Rows with a question and its reference answer, such as the tasks of this library. */
import { fault } from '../record/fault.js';
import { isPresent } from '../record/item.js';
import { has, readAnswer, readPrompt, withSystem, type Source } from './source.js';

export const plain: Source = {
  looksFor: 'question and answer',
  detect: (record) => has(record, 'question', 'answer'),
  read: ({ question, answer, ...fields }) => {
    if (!isPresent(answer)) throw fault('there is no answer');
    const messages = [
      ...withSystem(fields['system'], readPrompt(question)),
      ...(typeof answer === 'string' ? readAnswer(answer) : []),
    ];
    return [{ messages, truth: answer, fields }];
  },
};
