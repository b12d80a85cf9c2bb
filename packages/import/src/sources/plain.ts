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
  looksFor: 'question and answer; a prompt alone; or input with label or ideal',
  detect: (record) => has(record, 'question', 'answer') || isPrompt(record),
  read: (record) => {
    if (!has(record, 'question', 'answer') && isPrompt(record)) return [readTask(record)];
    const { question, answer, ...fields } = record;
    if (!isPresent(answer)) throw fault('there is no answer');
    const messages = [
      ...withSystem(fields['system'], readPrompt(question)),
      ...(typeof answer === 'string' ? readAnswer(answer) : []),
    ];
    return [{ messages, truth: answer, fields }];
  },
};

/** Columns of the reference answer. */
const truthKeys = ['answer', 'solution', 'ground_truth', 'ideal', 'label'] as const;

/** Matches columns of answers of a model, and of instructions that belong before an input. */
const otherKeys =
  /^(?:\w+_)?(?:completion|conversation|response|output|generation)s?(?:_?[ab\d])?$|^(?:chosen|rejected|preferred)|answers?_?[ab\d]$|^instruction$/i;

/**
 * Returns true if a record has a chat as its prompt, or a text with a reference answer, and no
 * column of answers of a model.
 */
function isPrompt(record: Json): boolean {
  if (Object.keys(record).some((key) => otherKeys.test(key))) return false;
  const { prompt } = record;
  if (!isPresent(prompt)) return has(record, 'input', 'label') || has(record, 'input', 'ideal');
  const chat = unwrapped(prompt);
  if (Array.isArray(chat) && isJson(chat[0])) return true;
  return typeof prompt === 'string' && truthOf(record) !== undefined;
}

/** Returns the reference answer; undefined if there is none that is not empty. */
function truthOf(record: Json): unknown {
  const reward = unwrapped(record['reward_model']);
  const given = [
    ...truthKeys.map((key) => record[key]),
    isJson(reward) ? reward['ground_truth'] : undefined,
  ].find((each) => isPresent(each) && each !== '');
  return Array.isArray(given) && given.length === 1 ? given[0] : given;
}

function readTask(record: Json): Conversation {
  const { prompt, input, ...others } = record;
  const messages = withSystem(record['system'], readPrompt(prompt ?? input));
  const last = messages.at(-1)?.role;
  if (last !== 'user' && last !== 'developer')
    throw fault("the prompt does not end with the user's message", last);
  const truth = truthOf(record);
  const columns = isPresent(prompt) ? { ...others, input } : others;
  const fields = Object.fromEntries(
    Object.entries(columns).filter(([key, value]) => isPresent(value) && !ownKeys.has(key)),
  );
  return { messages, ...(truth !== undefined && { truth }), ...toolsOf(record), fields };
}

/** Columns that a task has of its own. */
const ownKeys: ReadonlySet<string> = new Set(['messages', 'question', 'answer', 'tools']);
