/** Why a conversation could not be continued from its recorded tokens. */
import type { NormalMessage } from '../template/messages.js';
import { callIds } from './message-key.js';
import type { Path, Point, Turn } from './turn.js';

/**
 * - `arguments_edited`: the ids of a turn's tool calls with other argument values
 * - `reasoning_dropped`: a turn without the reasoning it had
 * - `text_edited`: a turn with other text, or with other tool calls
 * - `history_edited`: messages before a turn were changed, summarised, removed or added
 * - `tools_changed`: other tools, or thinking switched
 * - `template_changed`: the chat template prints earlier messages differently now
 * - `stop_differs`: the turn ended otherwise than the template ends one (a stop string, another end
 * token)
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
export type SpliceFailure = Extract<
  ForkReason,
  'tools_changed' | 'template_changed' | 'stop_differs'
>;

/** A conversation that left its recorded tokens, and where. */
export interface Fork {
  readonly reason: ForkReason;
  /** Index of the assistant message that could not be continued. */
  readonly message: number;
  /**
   * JSON of the recorded message and of the one that was sent, from shortly before their first
   * difference, cut after 160 characters.
   */
  readonly recorded?: string;
  readonly sent: string;
}

/**
 * Looks at the first assistant message after the spliced part. `undefined`: there is none, or the
 * conversation has nothing to do with recorded turns.
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
  if (recorded.content.trim() !== sent.content.trim() || callIds(recorded) !== callIds(sent))
    return 'text_edited';
  if (recorded.reasoning_content === sent.reasoning_content)
    return recorded.tool_calls ? 'arguments_edited' : 'text_edited';
  return sent.reasoning_content === undefined ? 'reasoning_dropped' : 'text_edited';
}

const [lead, excerptLength] = [40, 160];

function describeFork(reason: ForkReason, point: Point, turn: Turn | undefined): Fork {
  const [recorded, sent] = [turn && print(turn.message), print(point.message)];
  const from = Math.max(0, commonLength(recorded ?? '', sent) - lead);
  const excerpt = (text: string): string => text.slice(from, from + excerptLength);
  return {
    reason,
    message: point.index,
    ...(recorded !== undefined && { recorded: excerpt(recorded) }),
    sent: excerpt(sent),
  };
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** In one order of keys, so that only differences of content differ. */
function print({
  content,
  reasoning_content: reasoning,
  tool_calls: calls,
}: NormalMessage): string {
  return JSON.stringify({ reasoning, content, calls });
}
