/** Counts the tool calls of the model by the marks with which they begin. */
import type { ExperienceHead } from '@trinity-rft/buffer';
import type { Tokenizer } from '@trinity-rft/chat';

export type ToolCallCounter = (
  experience: Pick<ExperienceHead, 'tokens' | 'promptLength' | 'actionMask'>,
) => number;

/**
 * Marks with which tool calls begin in the syntaxes hermes and qwen3_coder, mistral, llama3_json.
 */
const marks = ['<tool_call>', '[TOOL_CALLS]', '<|python_tag|>'] as const;

/** Counter of tool calls. Without a tokenizer no call is counted. */
export function toolCallCounter(tokenizer: Tokenizer | undefined): ToolCallCounter {
  if (!tokenizer) return () => 0;
  const wanted = marks.map((mark) => tokenizer.encode(mark)).filter((ids) => ids.length > 0);
  return ({ tokens, promptLength, actionMask }) => {
    let count = 0;
    for (const ids of wanted)
      for (let i = promptLength; i + ids.length <= tokens.length; i++)
        if (actionMask[i - promptLength] === 1 && beginsWith(tokens, i, ids)) count++;
    return count;
  };
}

function beginsWith(tokens: Int32Array, at: number, ids: ArrayLike<number>): boolean {
  for (let k = 0; k < ids.length; k++) if (tokens[at + k] !== ids[k]) return false;
  return true;
}
