/** Why a conversation could not be continued from its recorded tokens. */
import { callIds } from './message-key.js';
import type { Path, Point, Turn } from './turn.js';

/**
 * - `arguments_edited`: the ids of a turn's tool calls with other argument values
 * - `reasoning_dropped`: a turn without the reasoning it had
 * - `text_edited`: a turn with other text, or with other tool calls
 * - `history_edited`: messages before a turn were changed, summarised, removed or added
 * - `tools_changed`: other tools, or thinking switched
 * - `template_changed`: the chat template prints earlier messages differently now
 * - `stop_differs`: the turn ended otherwise than the template ends one (a stop string, another end token)
 */
export type ForkReason =
  | 'arguments_edited'
  | 'reasoning_dropped'
  | 'text_edited'
  | 'history_edited'
  | 'tools_changed'
  | 'template_changed'
  | 'stop_differs';

/** Reasons that lie in the turn, not in the messages. */
export type SpliceFailure = Extract<ForkReason, 'tools_changed' | 'template_changed' | 'stop_differs'>;

/**
 * Looks at the first assistant message after the spliced part. `undefined`: there is none, or the conversation has nothing
 * to do with recorded turns.
 */
export function forkReason(
  path: Path,
  splicedIndex: number | undefined,
  failures: ReadonlyMap<number, SpliceFailure>,
  knows: (point: Point) => boolean,
): ForkReason | undefined {
  const rest = path.points.filter(({ index }) => splicedIndex === undefined || index > splicedIndex);
  const next = rest[0];
  if (!next) return undefined;
  const failure = failures.get(next.index);
  if (failure) return failure;
  const ids = callIds(next.message);
  const nearest = next.candidates.findLast(({ message }) => callIds(message) === ids) ?? next.candidates.at(-1);
  if (nearest) return difference(nearest, next);
  return splicedIndex !== undefined || rest.some(knows) ? 'history_edited' : undefined;
}

function difference({ message: recorded }: Turn, { message: sent }: Point): ForkReason {
  if (recorded.content.trim() !== sent.content.trim() || callIds(recorded) !== callIds(sent)) return 'text_edited';
  if (recorded.reasoning_content === sent.reasoning_content) return recorded.tool_calls ? 'arguments_edited' : 'text_edited';
  return sent.reasoning_content === undefined ? 'reasoning_dropped' : 'text_edited';
}
