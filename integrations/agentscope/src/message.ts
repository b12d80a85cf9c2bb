/**
 * The parts of AgentScope's message types that requests need. They are declared here because npm
 * does not provide the framework's types.
 */

export interface TextBlock {
  type: 'text';
  id: string;
  text: string;
}

interface ToolCallBlock {
  type: 'tool_call';
  id: string;
  name: string;
  /** Arguments of the call as JSON, as the model wrote them. */
  input: string;
}

interface ToolResultBlock {
  type: 'tool_result';
  /** Id of the tool call to which the result belongs. */
  id: string;
  name: string;
  output: string | readonly OutputBlock[];
}

/** A block of a tool's output: text, or data such as an image. */
export interface OutputBlock {
  readonly type: string;
  readonly text?: string;
}

interface OtherBlock {
  type: 'thinking' | 'hint' | 'data';
  id: string;
}

export type ContentBlock = TextBlock | ToolCallBlock | ToolResultBlock | OtherBlock;

export interface Message<Block extends { type: string } = ContentBlock> {
  name: string;
  role: 'user' | 'assistant' | 'system';
  /** Blocks in chronological order. */
  content: Block[];
}

/**
 * Returns the text in a message: its text blocks, joined by line breaks. An agent's reply has one
 * text block, from its last turn.
 */
export function textOf({
  content,
}: {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}): string {
  return content
    .flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []))
    .join('\n');
}
