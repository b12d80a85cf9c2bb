/** Messages as lists of content blocks; only the kinds of blocks that a text agent with tools needs. */

export interface TextBlock {
  type: 'text';
  id: string;
  text: string;
}

export interface ToolCallBlock {
  type: 'tool_call';
  id: string;
  name: string;
  /** Input of the call as JSON, as the model wrote it. */
  input: string;
}

export interface ToolResultBlock {
  type: 'tool_result';
  /** ID of the call. */
  id: string;
  name: string;
  output: string | TextBlock[];
  state: 'success' | 'error' | 'interrupted' | 'running';
}

export type ContentBlock = TextBlock | ToolCallBlock | ToolResultBlock;

export interface Msg {
  id: string;
  name: string;
  role: 'user' | 'assistant' | 'system';
  content: ContentBlock[];
  metadata: Record<string, unknown>;
  /** Time in ISO 8601. */
  timestamp: string;
}

/** A user's message; text becomes one block. */
export const UserMsg = ({ name, content }: { name: string; content: string }): Msg =>
  createMsg({ name, role: 'user', content: [{ type: 'text', id: newId(), text: content }] });

let createdIds = 0;

/**
 * Creates a message. Unlike the framework, uses counters as ids and constant timestamps, which requests do not contain.
 */
export function createMsg(given: Pick<Msg, 'name' | 'role' | 'content'>): Msg {
  return { id: newId(), metadata: {}, timestamp: '1970-01-01T00:00:00.000Z', ...given };
}

export const newId = (): string => `block_${++createdIds}`;

/** Text blocks of a message, one per line; null if there are none. */
export function getTextContent({ content }: Msg): string | null {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts.length === 0 ? null : texts.join('\n');
}
