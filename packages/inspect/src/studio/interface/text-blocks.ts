/** Splits a text into the parts of chat templates: roles, reasoning and tool calls. */

export type BlockKind = 'text' | 'reasoning' | 'toolCall' | 'toolResult' | 'tools' | 'mark';

export interface TextBlock {
  readonly kind: BlockKind;
  /** Role that the template names, such as `assistant`; undefined if it names none. */
  readonly role?: string;
  /** Index of the block's first character. */
  readonly start: number;
  /** Index after the block's last character. */
  readonly end: number;
}

const kindOfTag: Readonly<Record<string, BlockKind>> = {
  think: 'reasoning',
  channel: 'reasoning',
  THINK: 'reasoning',
  tool_call: 'toolCall',
  tool_response: 'toolResult',
  tool: 'tools',
  tools: 'tools',
};

/**
 * Matches the token that begins a text, headers and ends of turns (ChatML, Llama 3, Gemma, GLM, Phi,
 * Mistral), and tags around reasoning, tools, calls and results. Tags of Gemma 4 are `<|NAME>` and
 * `<NAME|>`.
 */
const marks = new RegExp(
  [
    String.raw`^(?:<bos>|<s>|<\|begin_of_text\|>|<\|startoftext\|>|\[gMASK\]<sop>)\n?`,
    String.raw`<\|im_start\|>(?<chatml>\w+)\n?`,
    String.raw`<\|start_header_id\|>(?<llama>\w+)<\|end_header_id\|>\n*`,
    String.raw`(?:<start_of_turn>|<\|turn>)(?<gemma>\w+)\n?`,
    String.raw`<\|(?<glm>system|user|assistant|observation)\|>\n?`,
    String.raw`(?<inst>\[INST\])`,
    String.raw`(?<answer>\[/INST\])`,
    String.raw`(?<end>(?:<\|im_end\|>|<end_of_turn>|<turn\|>)\n?|<\|eot_id\|>|<\|end\|>|</s>|<\|endoftext\|>)`,
    String.raw`<(?<open>think|tool_call|tool_response|tools)>`,
    String.raw`</(?<close>think|tool_call|tool_response|tools)>`,
    String.raw`<\|(?<opens>channel|tool_call|tool_response|tool)>`,
    String.raw`<(?<closes>channel|tool_call|tool_response|tool)\|>`,
    String.raw`\[(?<thinks>THINK)\]`,
    String.raw`\[/(?<thought>THINK)\]`,
    String.raw`(?<calls>\[TOOL_CALLS\]|<\|python_tag\|>)`,
  ].join('|'),
  'g',
);

/** Splits a text into consecutive blocks that cover it. A text without marks is one block. */
export function textBlocks(text: string): readonly TextBlock[] {
  const blocks: TextBlock[] = [];
  let role: string | undefined;
  let kind: BlockKind = 'text';
  let start = 0;
  const add = (end: number, as: BlockKind = kind): void => {
    if (end > start) blocks.push({ kind: as, role, start, end });
    start = end;
  };
  for (const match of text.matchAll(marks)) {
    const { chatml, llama, gemma, glm, inst, answer, end, calls, ...tags } = match.groups ?? {};
    const open = tags['open'] ?? tags['opens'] ?? tags['thinks'];
    const close = tags['close'] ?? tags['closes'] ?? tags['thought'];
    const [at, after] = [match.index, match.index + match[0].length];
    if (close !== undefined) {
      add(after);
      kind = 'text';
      continue;
    }
    add(at);
    if (open !== undefined) kind = kindOfTag[open] ?? 'text';
    else if (calls !== undefined) kind = 'toolCall';
    else {
      const named = chatml ?? llama ?? gemma ?? glm;
      if (named !== undefined) role = named;
      else if (inst !== undefined) role = 'user';
      else if (answer !== undefined) role = 'assistant';
      kind = 'text';
      add(after, 'mark');
      if (end !== undefined) role = undefined;
    }
  }
  add(text.length);
  return blocks;
}

const notAsking: ReadonlySet<string | undefined> = new Set([
  'assistant',
  'model',
  'tool',
  'ipython',
  'observation',
]);

/**
 * Returns the user's first or last message. If there is none, returns the last system message. If
 * the text has no marks, returns the whole text. Ignores tool results.
 */
export function askedText(text: string, which: 'first' | 'last'): string {
  const wordsOf = ({ start, end }: TextBlock): string => text.slice(start, end).trim();
  const blocks = textBlocks(text).filter((each) => each.kind !== 'mark' && wordsOf(each) !== '');
  const asked = blocks.filter(({ kind, role }, i) => {
    // Where a template names no roles, the text after a tool call is its result.
    const isResult = role === undefined && blocks[i - 1]?.kind === 'toolCall';
    return kind === 'text' && !notAsking.has(role) && !isResult;
  });
  const ofUser = asked.filter(({ role }) => role !== 'system');
  const found = ofUser.at(which === 'first' ? 0 : -1) ?? asked.at(-1) ?? blocks.at(-1);
  return found ? wordsOf(found) : text.trim();
}
