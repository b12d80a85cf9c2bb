/** Reasons why a conversation could not continue from its recorded tokens. */
import type { NormalMessage } from '../messages/messages.js';
import { callIds } from './message-key.js';
import type { Path, Point, Turn } from './turn.js';

/**
 * Reason why a prompt does not continue from the recorded tokens. A turn is a recorded response of
 * the model.
 * - `arguments_edited`: a turn's tool calls have the same ids but different argument values
 * - `reasoning_dropped`: a turn has lost its reasoning
 * - `text_edited`: a turn has different text, reasoning or tool calls
 * - `history_edited`: messages before a turn were changed, summarized, removed or added
 * - `tools_changed`: different tools or template variables, or thinking was switched on or off
 * - `template_changed`: the chat template now prints earlier messages differently
 * - `stop_differs`: the turn ended with a stop string, or not with the template's end token
 */
export type ForkReason =
  | 'arguments_edited'
  | 'reasoning_dropped'
  | 'text_edited'
  | 'history_edited'
  | 'tools_changed'
  | 'template_changed'
  | 'stop_differs';

/**
 * Reasons why recorded tokens cannot be continued although the messages match those that were
 * recorded.
 */
export type SpliceFailure = Extract<
  ForkReason,
  'tools_changed' | 'template_changed' | 'stop_differs'
>;

/**
 * First place at which a conversation differs from the recorded turns, and the reason why it does
 * not continue them.
 */
export interface Fork {
  readonly reason: ForkReason;
  /** Index of the first assistant message that does not match. */
  readonly message: number;
  /**
   * Excerpt of the JSON of the recorded message (absent if there is none) and of the message that
   * was sent instead. Both excerpts begin shortly before the first difference and have at most 160
   * characters.
   */
  readonly recorded?: string;
  readonly sent: string;
}

/**
 * Finds the fork at the first assistant message after the part that continues recorded tokens.
 * Returns undefined if there is no such message, or if the conversation is unrelated to recorded
 * turns.
 */
export function findFork(
  path: Path,
  splicedIndex: number | undefined,
  failures: ReadonlyMap<number, SpliceFailure>,
  knows: (point: Point) => boolean,
): Fork | undefined {
  const rest = path.points.filter(
    ({ index }) => splicedIndex === undefined || index > splicedIndex,
  );
  const next = rest[0];
  if (!next) return undefined;
  const ids = callIds(next.message);
  const nearest =
    next.candidates.findLast(({ message }) => callIds(message) === ids) ?? next.candidates.at(-1);
  const failure = failures.get(next.index);
  if (failure) return describeFork(failure, next, nearest);
  if (nearest) return describeFork(difference(nearest, next), next, nearest);
  return splicedIndex !== undefined || rest.some(knows)
    ? describeFork('history_edited', next, undefined)
    : undefined;
}

function difference({ message: recorded }: Turn, { message: sent }: Point): ForkReason {
  if (
    recorded.content.trim() !== sent.content.trim() ||
    calledNames(recorded) !== calledNames(sent)
  )
    return 'text_edited';
  if (recorded.reasoning_content === sent.reasoning_content)
    return recorded.tool_calls ? 'arguments_edited' : 'text_edited';
  return sent.reasoning_content === undefined ? 'reasoning_dropped' : 'text_edited';
}

/** Returns the ids and names of a message's tool calls, as JSON. */
const calledNames = ({ tool_calls: calls }: NormalMessage): string =>
  JSON.stringify(calls?.map(({ id, function: { name } }) => [id, name]));

const [lead, excerptLength] = [40, 160];

function describeFork(reason: ForkReason, point: Point, turn: Turn | undefined): Fork {
  const [recorded, sent] = [turn && print(turn.message), print(point.message)];
  const from = Math.max(0, commonLength(recorded ?? '', sent) - lead);
  const excerpt = (text: string): string => text.slice(from, from + excerptLength);
  return {
    reason,
    message: point.index,
    recorded: recorded === undefined ? undefined : excerpt(recorded),
    sent: excerpt(sent),
  };
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/**
 * Returns the JSON of a message with its keys in a fixed order, so that it differs only if the
 * contents differ.
 */
function print({
  content,
  reasoning_content: reasoning,
  tool_calls: calls,
}: NormalMessage): string {
  return JSON.stringify({ reasoning, content, calls });
}
