/**
 * Source of Braintrust rows from an experiment, data set or log, with scores for the output. Of a
 * trace, `tasks` take the top, and other rows the calls of models.
 */
import { unwrapped } from '../messages/json-text.js';
import { readTools } from '../messages/tool-calls.js';
import { fault, orFault } from '../record/fault.js';
import { isJson, isPresent, type Conversation, type Json, type Score } from '../record/item.js';
import type { RowKind } from '../record/row-kind.js';
import {
  dropPrefixes,
  has,
  readOutput,
  readPrompt,
  readScores,
  withScores,
  type Assembled,
  type Source,
} from './source.js';

interface Call {
  readonly conversation: Conversation;
}

interface Top {
  readonly top: Json;
}

export const braintrust: Source = {
  looksFor: 'input with expected or scores',
  detect: (record) =>
    has(record, 'input') && ('expected' in record || isJson(unwrapped(record['scores']))),
  read: (record) => {
    const { root_span_id: group } = record;
    if (typeof group !== 'string') return [conversationOf(record)];
    const { type, purpose } = objectIn(record, 'span_attributes');
    const isTop = !isPresent(parentOf(record)) && record['is_root'] !== false;
    if (type === 'llm' && purpose !== 'scorer') {
      if (!isPresent(record['output'])) throw fault('the call has no output', record['error']);
      return [{ group, part: { conversation: conversationOf(record) } }];
    }
    if (!isTop) throw fault('the span is neither a call of a model nor the top of its trace', type);
    return [{ group, part: { top: record } }];
  },
  assemble: (parts, as) => assemble(parts as readonly (Call | Top)[], as),
  mostOpen: 1000,
};

/** Returns an object of the record, which may be a JSON string, or an empty one. */
function objectIn(record: Json, key: string): Json {
  const value = unwrapped(record[key]);
  return isJson(value) ? value : {};
}

function parentOf(record: Json): unknown {
  const parents = unwrapped(record['span_parents']);
  return Array.isArray(parents) ? parents[0] : parents;
}

function conversationOf(record: Json): Conversation {
  const { input, output, expected } = record;
  const answer = isPresent(output) ? readOutput(output) : [];
  const tools = readTools(objectIn(record, 'metadata')['tools']);
  const item = {
    messages: [...readPrompt(input), ...answer],
    ...(tools && { tools }),
    ...(isPresent(expected) && { truth: expected }),
  };
  return withScores(item, scoresOf(record));
}

const scoresOf = (record: Json): readonly Score[] =>
  readScores(Object.entries(objectIn(record, 'scores')));

function assemble(parts: readonly (Call | Top)[], as: RowKind | undefined): readonly Assembled[] {
  const calls = parts.filter((part): part is Call => 'conversation' in part);
  const top = parts.find((part): part is Top => 'top' in part);
  const isTask =
    as === 'tasks' || (as === undefined && top !== undefined && has(top.top, 'expected'));
  if (top && (isTask || calls.length === 0))
    return [{ item: orFault(() => conversationOf(top.top)), part: top }];
  const scores = top ? scoresOf(top.top) : [];
  return dropPrefixes(calls).map((part) => ({ item: withScores(part.conversation, scores), part }));
}
