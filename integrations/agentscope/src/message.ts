/**
 * AgentScope's messages, as far as the wire needs them. Written from its behaviour: it is no
 * dependency, for npm does not have it.
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
  /** JSON, as the model wrote it. */
  input: string;
}

interface ToolResultBlock {
  type: 'tool_result';
  /** Of the call. */
  id: string;
  name: string;
  output: string | readonly OutputBlock[];
}

/** What a tool gave: text, or data with a source. */
export interface OutputBlock {
  readonly type: string;
  readonly text?: string;
}

/** Thoughts, hints, images, sounds. */
interface OtherBlock {
  type: 'thinking' | 'hint' | 'data';
  id: string;
}

export type ContentBlock = TextBlock | ToolCallBlock | ToolResultBlock | OtherBlock;

export interface Message<Block extends { type: string } = ContentBlock> {
  name: string;
  role: 'user' | 'assistant' | 'system';
  /** In order of time. */
  content: Block[];
}

/**
 * Its texts, a line each; empty when it has none. The reply of an agent has one, that of its last
 * turn.
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
