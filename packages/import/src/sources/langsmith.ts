/** Source of LangSmith model runs, with their mean feedback scores. */
import { unwrapped } from '../messages/json-text.js';
import { readTools } from '../messages/tool-calls.js';
import { fault } from '../record/fault.js';
import { isJson, type Conversation, type Json } from '../record/item.js';
import {
  dropPrefixes,
  has,
  meanScore,
  readAnswer,
  readPrompt,
  withSystem,
  type Source,
} from './source.js';

interface Run {
  readonly conversation: Conversation;
}

export const langsmith: Source = {
  looksFor: 'run_type and inputs',
  detect: (record) => has(record, 'run_type', 'inputs'),
  read: (record) => {
    const { run_type: type, error, trace_id: trace, id } = record;
    if (type !== 'llm') throw fault('the run is not a call of a model', type);
    if (typeof error === 'string' && error !== '') throw fault('the call failed', error);
    return [{ group: String(trace ?? id), part: { conversation: conversationOf(record) } }];
  },
  assemble: (parts) =>
    dropPrefixes(parts as readonly Run[]).map((part) => ({ item: part.conversation, part })),
  mostOpen: 1000,
};

function conversationOf(record: Json): Conversation {
  const inputs = unwrapped(record['inputs']);
  const given: Json = isJson(inputs) ? inputs : {};
  const prompt = readPrompt(onlyText(given['messages'] ?? given['prompts'] ?? inputs));
  const tools = readTools(toolsOf(record, given));
  return {
    messages: [...withSystem(given['system'], prompt), ...readAnswer(record['outputs'])],
    ...(tools && { tools }),
    ...meanScore(feedbackOf(record['feedback_stats'])),
  };
}

/** Returns the prompt of a completion model, which may be wrapped in a list with one string. */
const onlyText = (prompt: unknown): unknown =>
  Array.isArray(prompt) && prompt.length === 1 && typeof prompt[0] === 'string'
    ? prompt[0]
    : prompt;

function toolsOf(record: Json, inputs: Json): unknown {
  const { extra } = record;
  const invocation = isJson(extra) ? extra['invocation_params'] : undefined;
  return inputs['tools'] || (isJson(invocation) && invocation['tools']) || [];
}

function feedbackOf(stats: unknown): readonly unknown[] {
  const feedback = unwrapped(stats);
  if (!isJson(feedback)) return [];
  return Object.values(feedback).map((each) => (isJson(each) ? each['avg'] : undefined));
}
