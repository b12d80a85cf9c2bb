/**
 * Source of Langfuse exports: generations and scores, which are joined by trace and observation.
 */
import { unwrapped } from '../messages/json-text.js';
import { readTools } from '../messages/tool-calls.js';
import { fault } from '../record/fault.js';
import {
  isJson,
  isPresent,
  type Conversation,
  type Item,
  type Json,
  type Score,
} from '../record/item.js';
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

interface Generation {
  readonly id: unknown;
  readonly conversation: Conversation;
}

interface Scored {
  /** Id of the scored observation; undefined if the score is for the whole trace. */
  readonly observation: unknown;
  readonly scores: readonly Score[];
}

type Part = Generation | Scored;

export const langfuse: Source = {
  looksFor: 'type GENERATION, input and a trace id; or scores with a trace id',
  detect: (record) =>
    traceOf(record) !== undefined &&
    ((isScore(record) && 'value' in record) || isObservation(record)),
  read,
  assemble: (parts) => assemble(parts as readonly Part[]),
};

const traceOf = (record: Json): unknown => record['traceId'] ?? record['trace_id'];
const isScore = (record: Json): boolean => has(record, 'name') && !has(record, 'type');
const isObservation = (record: Json): boolean => has(record, 'type') && 'input' in record;

function read(record: Json): readonly Item[] {
  const trace = traceOf(record);
  if (typeof trace !== 'string') throw fault('there is no trace id', Object.keys(record));
  if (isScore(record)) {
    const observation = record['observationId'] ?? record['observation_id'] ?? undefined;
    const { value } = record;
    const kind = record['dataType'] ?? record['data_type'] ?? 'NUMERIC';
    if (kind !== 'NUMERIC' && kind !== 'BOOLEAN')
      throw fault('the score is a label, a text or a correction instead of a grade', kind);
    const scores = readScores([[String(record['name']), value]]);
    if (scores.length === 0) throw fault('a score is neither a number nor true or false', value);
    return [{ group: trace, part: { observation, scores } }];
  }
  const { type, id } = record;
  if (type !== 'GENERATION') throw fault('the observation is not a call of a model', type);
  return [{ group: trace, part: { id, conversation: conversationOf(record) } }];
}

function conversationOf(record: Json): Conversation {
  const { input, output } = record;
  if (!isPresent(output)) throw fault('the generation has no output');
  const given = unwrapped(input);
  const list = Array.isArray(given) ? given.map(unwrapped) : [];
  const definitions = list.filter(isDefinition).map(({ content }) => content);
  const prompt = definitions.length > 0 ? list.filter((one) => !isDefinition(one)) : given;
  const tools = readTools(
    isJson(prompt) && has(prompt, 'messages') ? prompt['tools'] : definitions,
  );
  return { messages: [...readPrompt(prompt), ...readOutput(output)], ...(tools && { tools }) };
}

/**
 * Returns true for the definition of a tool. Langfuse's handler for LangChain adds them to the
 * messages.
 */
function isDefinition(message: unknown): message is Json {
  if (!isJson(message) || message['role'] !== 'tool' || has(message, 'tool_call_id')) return false;
  const { content } = message;
  if (!isJson(content)) return false;
  if (content['type'] === 'function') return isJson(content['function']);
  const { name, parameters = content['input_schema'] } = content;
  return typeof name === 'string' && isJson(parameters);
}

function assemble(parts: readonly Part[]): readonly Assembled[] {
  const scored = parts.filter((part): part is Scored => 'scores' in part);
  const generations = parts.filter((part): part is Generation => 'conversation' in part);
  const isOf = ({ observation }: Scored, { id }: Generation): boolean =>
    observation === undefined || observation === id;
  const kept = dropPrefixes(generations);
  const isOfAny = (one: Scored, some: readonly Generation[]): boolean =>
    some.some((generation) => isOf(one, generation));
  const unread = scored.filter((one) => !isOfAny(one, kept));
  const taken = kept.map((part) => {
    const scores = scored.filter((one) => isOf(one, part)).flatMap((one) => one.scores);
    return { item: withScores(part.conversation, scores), part };
  });
  return [
    ...taken,
    ...unread.map((part) => ({
      item: {
        reason: isOfAny(part, generations)
          ? 'the score is of a call that a later call continues'
          : 'the score is not of a call of a model',
      },
      part,
    })),
  ];
}
