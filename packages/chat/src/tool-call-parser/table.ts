/** Tool-call parsers by their names in the configuration (`tool_call_parser`). */
import { hermes } from './hermes.js';
import type { ToolCallParser } from './types.js';

/** To add one, write its file and a line here. */
export const toolCallParsers = { hermes } satisfies Record<string, ToolCallParser>;
