/** Finds the tool calls of the model by the marks with which they begin. */
import type { ExperienceHead } from '@trinity-rft/buffer';
import { tokenTexts, type Tokenizer } from '@trinity-rft/chat';

export interface ToolCall {
  /** Undefined if the syntax is unknown. */
  readonly name: string | undefined;
  /** Response token at which it begins. */
  readonly at: number;
}

export type ToolCallReader = (
  experience: Pick<ExperienceHead, 'tokens' | 'promptLength' | 'actionMask'>,
) => readonly ToolCall[];

/**
 * Marks with which tool calls begin in the syntaxes hermes and qwen3_coder, mistral, llama3_json.
 */
const marks = ['<tool_call>', '[TOOL_CALLS]', '<|python_tag|>'] as const;
/** Number of tokens after a mark within which the name is. */
const searched = 64;
const named = /<function=([^>\s]+)>|"name"\s*:\s*"([^"\\]+)"|^\s*([\w.-]+)\[ARGS\]/;

/** Reader of tool calls. Without a tokenizer it finds none. */
export function toolCallReader(tokenizer: Tokenizer | undefined): ToolCallReader {
  if (!tokenizer) return () => [];
  const wanted = marks.map((mark) => tokenizer.encode(mark)).filter((ids) => ids.length > 0);
  const nameAt = (tokens: Int32Array, start: number): string | undefined => {
    const text = tokenTexts(tokenizer, tokens.subarray(start, start + searched)).join('');
    return named.exec(text)?.slice(1).find(Boolean);
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
