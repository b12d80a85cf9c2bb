/**
 * Rows with a question and its reference answer, such as the tasks of this library, and rows with a
 * prompt alone, such as those of TRL, verl, OpenRLHF and OpenAI's evals.
 */
import { unwrapped } from '../messages/json-text.js';
import { fault } from '../record/fault.js';
import { isJson, isPresent, type Conversation, type Json } from '../record/item.js';
import { toolsOf } from './openai.js';
import { has, readAnswer, readPrompt, withSystem, type Source } from './source.js';

export const plain: Source = {
  looksFor: 'question and answer; prompt alone; or input with label or ideal',
  detect: (record) => has(record, 'question', 'answer') || isPrompt(record),
  read: (record) => {
    if (!has(record, 'question') && isPrompt(record)) return [readTask(record)];
    const { question, answer, ...fields } = record;
    if (!isPresent(answer)) throw fault('there is no answer');
    const messages = [
      ...withSystem(fields['system'], readPrompt(question)),
      ...(typeof answer === 'string' ? readAnswer(answer) : []),
    ];
    return [{ messages, truth: answer, fields }];
  },
};

/** Columns of answers that a model gave. */
const answerKeys: readonly string[] = ['completion', 'response', 'output', 'chosen', 'rejected'];

const isPrompt = (record: Json): boolean =>
  (has(record, 'prompt') || has(record, 'input', 'label') || has(record, 'input', 'ideal')) &&
  !answerKeys.some((key) => key in record);

/** Columns of the reference answer. */
const truthKeys = ['answer', 'solution', 'ground_truth', 'ideal', 'label'] as const;

function readTask(record: Json): Conversation {
  const { prompt, input, answer: _answer, tools: _tools, ...others } = record;
  const fields = isPresent(prompt) && isPresent(input) ? { ...others, input } : others;
  const reward = unwrapped(record['reward_model']);
  const given =
    truthKeys.map((key) => record[key]).find(isPresent) ??
    (isJson(reward) ? reward['ground_truth'] : undefined);
  const truth: unknown = Array.isArray(given) && given.length === 1 ? given[0] : given;
  const messages = withSystem(record['system'], readPrompt(prompt ?? input));
  return { messages, ...(isPresent(truth) && { truth }), ...toolsOf(record), fields };
}
