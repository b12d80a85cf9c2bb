/** promptfoo: prompts and tests of a configuration; each prompt with each test is a task. */
import { fault, orFault } from '../record/fault.js';
import { isJson, type Conversation, type Finished, type Json } from '../record/item.js';
import { has, readPrompt, type Source } from './source.js';

export const promptfoo: Source = {
  looksFor: 'prompts and tests',
  detect: (record) => has(record, 'prompts', 'tests'),
  read: (record) => {
    const { prompts, tests, defaultTest } = record;
    if (!Array.isArray(tests))
      throw fault('the tests are in another file; write them into this one', tests);
    const base = isJson(defaultTest) ? defaultTest : {};
    const templates = (Array.isArray(prompts) ? prompts : [prompts]) as readonly unknown[];
    return templates.flatMap((prompt) =>
      tests.map((test: unknown): Finished => orFault(() => taskOf(prompt, test, base))),
    );
  },
};

function taskOf(prompt: unknown, test: unknown, base: Json): Conversation {
  if (!isJson(test)) throw fault('a test is not an object', test);
  const vars = { ...objectAt(base, 'vars'), ...objectAt(test, 'vars') };
  const asserts = [...listAt(base, 'assert'), ...listAt(test, 'assert')];
  const equals = asserts.find((each) => isJson(each) && each['type'] === 'equals');
  return {
    messages: readPrompt(filled(textOf(prompt), vars)),
    ...(isJson(equals) && { truth: equals['value'] }),
    fields: { vars, ...(asserts.length > 0 && { assert: asserts }) },
  };
}

const objectAt = (record: Json, key: string): Json => {
  const value = record[key];
  return isJson(value) ? value : {};
};

const listAt = (record: Json, key: string): readonly unknown[] => {
  const value = record[key];
  return Array.isArray(value) ? value : [];
};

function textOf(prompt: unknown): string {
  const text = isJson(prompt) ? (prompt['raw'] ?? prompt['content']) : prompt;
  if (typeof text !== 'string') throw fault('a prompt is not a text', prompt);
  if (text.startsWith('file://'))
    throw fault('a prompt is in another file; write it into this one', text);
  return text;
}

/** Replaces `{{name}}` and `{{name.part}}`; in prompts that are JSON, values are escaped. */
function filled(template: string, vars: Json): string {
  if (template.includes('{%'))
    throw fault('a prompt has conditions or loops, which are not evaluated here', template);
  const isChat = template.trimStart().startsWith('[');
  return template.replaceAll(/\{\{\s*([^{}]*?)\s*\}\}/g, (_, name: string) => {
    const inner = (at: unknown, key: string): unknown =>
      isJson(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    const value = name.split('.').reduce(inner, vars);
    if (value === undefined) throw fault('a prompt names a variable that the test lacks', name);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return isChat ? JSON.stringify(text).slice(1, -1) : text;
  });
}
