/** Source of LangSmith model runs, with their mean feedback scores. */
import { unwrapped } from '../messages/json-text.js';
import { readTools } from '../messages/tool-calls.js';
import { fault } from '../record/fault.js';
import { isJson, type Conversation, type Json, type Score } from '../record/item.js';
import {
  dropPrefixes,
  has,
  readOutput,
  readPrompt,
  readScores,
  withScores,
  withSystem,
  type Assembled,
  type Source,
} from './source.js';

interface Run {
  readonly conversation: Conversation;
}

/** The top of a trace, whose feedback counts for all its conversations. */
interface Top {
  readonly scores: readonly Score[];
}

export const langsmith: Source = {
  looksFor: 'run_type and inputs',
  detect: (record) => has(record, 'run_type', 'inputs'),
  read: (record) => {
    const { run_type: type, error, trace_id: trace, id } = record;
    const group = String(trace ?? id);
    const scores = feedbackOf(record);
    if (type !== 'llm') {
      if (scores.length === 0) throw fault(noCall, type);
      if (group !== id) throw fault(`${noCall}, and its feedback is not read`, type);
      return [{ group, part: { scores } }];
    }
    if (typeof error === 'string' && error !== '') throw fault('the call failed', error);
    return [{ group, part: { conversation: withScores(conversationOf(record), scores) } }];
  },
  assemble: (parts) => assemble(parts as readonly (Run | Top)[]),
  mostOpen: 1000,
};

const noCall = 'the run is not a call of a model';

function assemble(parts: readonly (Run | Top)[]): readonly Assembled[] {
  const runs = parts.filter((part): part is Run => 'conversation' in part);
  const tops = parts.filter((part): part is Top => 'scores' in part);
  const scores = tops.flatMap((top) => top.scores);
  if (runs.length === 0) return tops.map((part) => ({ item: { reason: noCall }, part }));
  return dropPrefixes(runs).map((part) => ({ item: withScores(part.conversation, scores), part }));
}

function conversationOf(record: Json): Conversation {
  const inputs = unwrapped(record['inputs']);
  const given: Json = isJson(inputs) ? inputs : {};
  const prompt = readPrompt(onlyText(given['messages'] ?? given['prompts'] ?? inputs));
  const tools = readTools(toolsOf(record, given));
  const messages = [...withSystem(given['system'], prompt), ...readOutput(record['outputs'])];
  return { messages, ...(tools && { tools }) };
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

/** Returns the mean feedback of a run, by the name of the feedback. */
function feedbackOf({ feedback_stats: stats }: Json): readonly Score[] {
  const feedback = unwrapped(stats);
  const entries = isJson(feedback) ? Object.entries(feedback) : [];
  return readScores(entries.map(([name, one]) => [name, isJson(one) ? one['avg'] : undefined]));
}
