/** Finds the model's tool calls by their opening marks. */
import type { ExperienceHead } from '@trinity-rft/buffer';
import { tokenTexts, toolCallParsers, type Tokenizer } from '@trinity-rft/chat';

export interface ToolCall {
  /** Name of the tool; undefined if it cannot be read from the tokens after the mark. */
  readonly name: string | undefined;
  /** Response token at which the call begins. */
  readonly at: number;
}

export type ToolCallReader = (
  experience: Pick<ExperienceHead, 'tokens' | 'promptLength' | 'actionMask'>,
) => readonly ToolCall[];

/** Marks that open tool calls in the formats of all parsers. */
const marks = new Set(Object.values(toolCallParsers).flatMap(({ markers }) => markers.slice(0, 1)));
/** Number of tokens after a mark that are searched for the name. */
const searched = 64;
const named =
  /<function=([^>\s]+)>|"name"\s*:\s*"([^"\\]+)"|^\s*([\w.-]+)\[ARGS\]|^\s*call:([\w.-]+)\{|^\s*\[([\w.-]+)\(/;

/** Reader that finds no tool calls, for records without a tokenizer. */
export const noToolCalls: ToolCallReader = () => [];

/**
 * Returns a function that finds the tool calls of an experience, or {@link noToolCalls} if there is
 * no tokenizer.
 */
export function toolCallReader(tokenizer: Tokenizer | undefined): ToolCallReader {
  if (!tokenizer) return noToolCalls;
  const textOf = (ids: ArrayLike<number>): string =>
    tokenTexts(tokenizer, Int32Array.from(ids)).join('');
  // If a tokenizer cannot encode a mark, the model cannot write calls with the mark.
  const wanted = [...marks].flatMap((mark) => {
    const ids = tokenizer.encode(mark);
    return textOf(ids) === mark ? [ids] : [];
  });
  const nameAt = (tokens: Int32Array, start: number): string | undefined => {
    const found = named.exec(textOf(tokens.subarray(start, start + searched)));
    return found?.slice(1).find(Boolean);
  };
  return ({ tokens, promptLength, actionMask }) => {
    const calls: ToolCall[] = [];
    for (const ids of wanted)
      for (let i = promptLength; i + ids.length <= tokens.length; i++)
        if (actionMask[i - promptLength] === 1 && beginsWith(tokens, i, ids))
          calls.push({ name: nameAt(tokens, i + ids.length), at: i - promptLength });
    return calls;
  };
}

function beginsWith(tokens: Int32Array, at: number, ids: ArrayLike<number>): boolean {
  for (let k = 0; k < ids.length; k++) if (tokens[at + k] !== ids[k]) return false;
  return true;
}
