/**
 * Source of Braintrust rows from an experiment, data set or log, with scores for the output. A trace
 * gives a task for its root, or rows of its model calls, see `assemble`.
 */
import type { ChatMessage } from '@trinity-rft/core';
import { unwrapped } from '../messages/json-text.js';
import { readTools } from '../messages/tool-calls.js';
import { fault, orFault } from '../record/fault.js';
import { isJson, isPresent, type Conversation, type Json, type Score } from '../record/item.js';
import type { RowKind } from '../record/row-kind.js';
import {
  dropPrefixes,
  has,
  readAnswer,
  readOutput,
  readPrompt,
  readScores,
  withScores,
  type Assembled,
  type Source,
} from './source.js';

export const braintrust: Source = {
  looksFor: 'input with expected or scores',
  detect: (record) =>
    has(record, 'input') && ('expected' in record || isJson(unwrapped(record['scores']))),
  read: (record) => {
    const { root_span_id: group } = record;
    if (typeof group !== 'string') return [conversationOf(record, false)];
    const part = isRow(record) ? record : { ...record, input: undefined, output: undefined };
    return [{ group, part }];
  },
  assemble: (parts, kind) => assemble(parts as readonly Json[], kind),
  mostOpen: 1000,
};

/** Returns an object of the record, which may be a JSON string, or an empty one. */
function objectIn(record: Json, key: string): Json {
  const value = unwrapped(record[key]);
  return isJson(value) ? value : {};
}

const parentsOf = (record: Json): readonly unknown[] =>
  [unwrapped(record['span_parents'])].flat().filter((id) => isPresent(id) && id !== '');

const scoresOf = (record: Json): readonly Score[] =>
  readScores(Object.entries(objectIn(record, 'scores')));

const typeOf = (record: Json): unknown => objectIn(record, 'span_attributes')['type'];
const isRoot = (record: Json): boolean =>
  parentsOf(record).length === 0 && record['is_root'] !== false;
const isCall = (record: Json): boolean => typeOf(record) === 'llm' && has(record, 'output');
const isScorer = (record: Json): boolean =>
  typeOf(record) === 'score' || objectIn(record, 'span_attributes')['purpose'] === 'scorer';
/**
 * Returns true for a span that may become a row. The others are steps between such spans, and so are
 * tools with scores: their results are no answers of a model.
 */
const isRow = (record: Json): boolean =>
  isRoot(record) ||
  isCall(record) ||
  has(record, 'expected') ||
  (typeOf(record) !== 'tool' && scoresOf(record).length > 0);

const hasPrompt = ({ input }: Json): boolean => !('reason' in orFault(() => readPrompt(input)));

/** @param isTask true to leave out the output, which may be anything beside an expected answer */
function conversationOf(record: Json, isTask: boolean): Conversation {
  const { input, output, expected } = record;
  const isModel = typeOf(record) === 'llm';
  const prompt = isModel ? systemFirst(readPrompt(input)) : readPrompt(input);
  const read = isModel ? readOutput : readAnswer;
  const answer = isTask || !isPresent(output) ? [] : read(output);
  const tools = isModel ? readTools(objectIn(record, 'metadata')['tools']) : undefined;
  const item = {
    messages: [...prompt, ...answer],
    ...(tools && { tools }),
    ...(isPresent(expected) && { truth: expected }),
  };
  return withScores(item, scoresOf(record));
}

/** Moves a system message from the end, where Braintrust's Anthropic wrapper puts it, to the start. */
function systemFirst(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = messages.at(-1);
  return last?.role === 'system' && messages[0]?.role !== 'system'
    ? [last, ...messages.slice(0, -1)]
    : messages;
}

/**
 * Returns a function that finds the spans above a span of these. Where a span between them is
 * missing, the roots count as above.
 */
function ancestorsIn(spans: readonly Json[]): (span: Json) => readonly Json[] {
  const byId = new Map(spans.map((span) => [span['span_id'], span]));
  const roots = spans.filter(isRoot);
  return (span) => {
    const found = new Set([span]);
    for (const one of found)
      for (const parent of parentsOf(one).map((id) => byId.get(id))) if (parent) found.add(parent);
    if (![...found].some(isRoot)) for (const root of roots) found.add(root);
    found.delete(span);
    return [...found];
  };
}

/**
 * Builds tasks of roots whose input is a prompt, and of spans with an expected answer. For rows of
 * other kinds, and for tasks of a trace without such spans, takes model calls, roots and spans with
 * scores, unless a model call is below them. Scorers and spans below them are left out. The scores
 * of a span are its own and those of the spans above it.
 * @param kind kind of the rows. @default tasks if a span has an expected answer
 */
function assemble(spans: readonly Json[], kind: RowKind | undefined): readonly Assembled[] {
  const above = ancestorsIn(spans);
  const scoring = new Set(spans.filter((span) => [span, ...above(span)].some(isScorer)));
  const own = spans.filter((span) => !scoring.has(span));
  const isTask = kind === 'tasks' || (!kind && own.some((span) => has(span, 'expected')));
  const isTop = (span: Json): boolean => has(span, 'expected') || (isRoot(span) && hasPrompt(span));
  const takesTops = isTask && own.some(isTop);
  const callers = new Set(own.filter(isCall).flatMap(above));
  const taken = own.filter(
    (span) => !isRow(span) || (takesTops ? isTop(span) : !callers.has(span)),
  );
  const read = (span: Json): Conversation => {
    if (scoring.has(span)) throw fault('the span belongs to a scorer', typeOf(span));
    const isUnanswered = typeOf(span) === 'llm' && !has(span, 'output');
    if (isUnanswered && !(isTask && isRow(span)))
      throw fault('the call has no output', span['error']);
    if (!isRow(span)) throw fault('the span is only a step between others', typeOf(span));
    return withScores(conversationOf(span, isTask), above(span).flatMap(scoresOf));
  };
  const items = [...scoring, ...taken].map((part) => ({ part, item: orFault(() => read(part)) }));
  const conversations = items.flatMap(({ part, item }) =>
    'reason' in item ? [] : [{ part, conversation: item }],
  );
  return [
    ...items.filter(({ item }) => 'reason' in item),
    ...(isTask ? conversations : dropPrefixes(conversations)).map(
      ({ part, conversation: item }) => ({ part, item }),
    ),
  ];
}
