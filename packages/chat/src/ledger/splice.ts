/** Prompt ids made of a recorded turn and the template's rendering of what came after it. */
import type { ChatFormat, PromptInput } from '../format/chat-format.js';
import type { NormalMessage } from '../template/messages.js';
import type { SpliceFailure } from './fork-reason.js';
import { endOfStandIn, standIn } from './placeholder.js';
import type { Turn } from './turn.js';

export interface Splice {
  readonly ids: Int32Array;
  /** Recorded ids among them: the prompt and completion of the turn. */
  readonly reused: number;
  readonly rendered: readonly NormalMessage[];
  readonly text: string;
}

/**
 * Renders the conversation with a stand-in for the turn. The text must begin with that of the
 * turn's own prompt; the stop token after the stand-in is the one the turn ended with (a truncated
 * turn gets it as context), and what follows is new.
 */
export function splice(
  format: ChatFormat,
  input: PromptInput,
  options: string,
  turn: Turn,
  index: number,
): Splice | SpliceFailure {
  if (turn.prompt.options !== options) return 'tools_changed';
  const inPlace = standIn(turn.message);
  const rendered = [...turn.prompt.rendered, inPlace, ...input.messages.slice(index + 1)];
  const text = format.render({ ...input, messages: rendered });
  if (!text.startsWith(turn.prompt.text)) return 'template_changed';
  const after = text.slice(turn.prompt.text.length);
  const end = endOfStandIn(inPlace, after);
  if (end === undefined) return 'template_changed';
  const stop = nextStop(format, after, end);
  if (!stop) return 'stop_differs';
  // A think block that only the tokens or only the template has.
  if (after.slice(0, stop.at).includes('</think>') !== turn.thinks) return 'template_changed';
  const bridge = format.encode(after.slice(stop.at));
  if (bridge[0] !== stop.id || (!turn.truncated && turn.completion.at(-1) !== stop.id))
    return 'stop_differs';
  const ids = join(turn.prompt.ids, turn.completion, turn.truncated ? bridge : bridge.subarray(1));
  return { ids, reused: turn.prompt.ids.length + turn.completion.length, rendered, text };
}

function nextStop(
  { stopTokenIds, tokenizer }: ChatFormat,
  text: string,
  from: number,
): { readonly id: number; readonly at: number } | undefined {
  const found = stopTokenIds
    .map((id) => ({ id, at: text.indexOf(tokenizer.idToToken(id) ?? '', from) }))
    .filter(({ at }) => at >= 0);
  return found.length === 0 ? undefined : found.reduce((a, b) => (b.at < a.at ? b : a));
}

function join(...parts: readonly Int32Array[]): Int32Array {
  const ids = new Int32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    ids.set(part, at);
    at += part.length;
  }
  return ids;
}
