/**
 * Builds a prompt from the ids of a recorded turn and the rendering of the messages after the turn.
 */
import type { ChatFormat } from '../format/chat-format.js';
import type { PromptInput } from '../format/prompt.js';
import type { NormalMessage } from '../messages/messages.js';
import type { SpliceFailure } from './fork-reason.js';
import { endOfPlaceholder, toPlaceholder, withoutCallMarks } from './placeholder.js';
import type { Turn } from './turn.js';

export interface Splice {
  readonly ids: Int32Array;
  /**
   * Number of ids at the beginning that are copied from the recording: the prompt and completion of
   * the turn.
   */
  readonly reused: number;
  readonly rendered: readonly NormalMessage[];
  readonly text: string;
}

/**
 * Continues a recorded turn, which is message `index`, with the later messages. Renders the
 * conversation with a placeholder for the turn. The rendering must begin with the text of the
 * turn's own prompt (see {@link endOfPrompt}), and the stop token after the placeholder must be the
 * one that ended the turn. A truncated turn has no stop token; the prompt then contains it after
 * the turn.
 * @returns the prompt, or the reason why the turn cannot be continued
 */
export function splice(
  format: ChatFormat,
  input: PromptInput,
  options: string,
  turn: Turn,
  index: number,
): Splice | SpliceFailure {
  if (turn.prompt.options !== options) return 'tools_changed';
  const placeholder = toPlaceholder(turn.message);
  const rendered = [...turn.prompt.rendered, placeholder, ...input.messages.slice(index + 1)];
  const text = format.render({ ...input, messages: rendered });
  const from = endOfPrompt(turn.prompt.text, text);
  if (from === undefined) return 'template_changed';
  const afterPrompt = text.slice(from);
  const end = endOfPlaceholder(placeholder, afterPrompt);
  if (end === undefined) return 'template_changed';
  const stop = nextStop(format, afterPrompt, end);
  if (!stop) return 'stop_differs';
  // True if only the tokens, or only the template's rendering, contain reasoning.
  if (holdsReasoning(afterPrompt.slice(0, stop.at)) !== turn.thinks) return 'template_changed';
  const bridge = format.encode(withoutCallMarks(afterPrompt.slice(stop.at)));
  if (bridge[0] !== stop.id || (!turn.truncated && turn.completion.at(-1) !== stop.id))
    return 'stop_differs';
  const ids = join(turn.prompt.ids, turn.completion, turn.truncated ? bridge : bridge.subarray(1));
  return { ids, reused: turn.prompt.ids.length + turn.completion.length, rendered, text };
}

/**
 * Matches a reasoning block at the end of a prompt that is only opened or empty, in the syntaxes of
 * Qwen and Gemma 4.
 */
const emptyThought = /(?:<think>\s*(?:<\/think>\s*)?|<\|channel>thought\s*<channel\|>\s*)$/;

/**
 * Returns the index in `text` at which the turn begins: the end of the turn's prompt. White space
 * may differ, because Hermes 3 prints the last tool result without a line break at its end. An
 * empty think block at the end of the prompt may be missing in `text`, because some templates print
 * it only at the end of a prompt. Returns undefined for any other difference.
 */
function endOfPrompt(prompt: string, text: string): number | undefined {
  if (text.startsWith(prompt)) return prompt.length;
  const bare = prompt.replace(emptyThought, '');
  return endOfSame(prompt, text) ?? endOfSame(bare, text);
}

/**
 * Returns the index in `text` at which `part` ends if `text` begins with `part`, apart from white
 * space; otherwise undefined.
 */
function endOfSame(part: string, text: string): number | undefined {
  let at = 0;
  for (let i = 0; i < part.length;) {
    if (part[i] === text[at]) {
      i++;
      at++;
    } else if (isSpace(part[i])) i++;
    else if (isSpace(text[at])) at++;
    else return undefined;
  }
  return at;
}

const isSpace = (character: string | undefined): boolean =>
  character !== undefined && ' \n\r\t'.includes(character);

/**
 * Returns true if the text of a turn has a think block that is not empty. The block may have been
 * opened in the prompt.
 */
export function holdsReasoning(turn: string): boolean {
  const end = turn.indexOf('</think>');
  if (end < 0) return false;
  const begin = turn.lastIndexOf('<think>', end);
  return turn.slice(begin < 0 ? 0 : begin + '<think>'.length, end).trim() !== '';
}

function nextStop(
  { stopTokenIds, tokenizer }: ChatFormat,
  text: string,
  from: number,
): { readonly id: number; readonly at: number } | undefined {
  const found = stopTokenIds.flatMap((id) => {
    const stop = tokenizer.decode([id]);
    const at = stop === '' ? -1 : text.indexOf(stop, from);
    return at < 0 ? [] : [{ id, at }];
  });
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
