/** Reads the actions from the model's response. */
import {
  type ChatResponse,
  type ToolCall,
  type ToolDefinition,
  WorkflowError,
} from '@trinity-rft/core';
import { tryJson, withinMs } from '@trinity-rft/core/support';
import type { Action } from '../seam/types.js';

/**
 * An action, or a message that tells the model why its response contains none (`refusal`). `call`
 * is the tool call from which either was read, if there was one.
 */
export type ReadAction =
  | { readonly action: Action; readonly call?: ToolCall }
  | { readonly refusal: string; readonly call?: ToolCall };

export interface ReadOptions {
  readonly actionPattern?: RegExp;
  /** Format of an action. It is shown to the model after a message without an action. */
  readonly actionHint?: string;
  readonly tools: readonly ToolDefinition[];
}

/**
 * Returns the actions in the model's response: all tool calls in order or, if there are none, the
 * last action in the text.
 * @throws WorkflowError if the pattern takes longer than {@link longestSearchMs}
 */
export function readActions(
  { toolCalls, responseText }: ChatResponse,
  { actionPattern, actionHint, tools }: ReadOptions,
): readonly ReadAction[] {
  if (toolCalls.length > 0) return toolCalls.map((call) => ({ ...readCall(call, tools), call }));
  if (actionPattern === undefined) return [{ action: { type: 'text', text: responseText.trim() } }];
  const found = lastMatch(actionPattern, responseText);
  const text = found?.[1] ?? found?.[0];
  return text === undefined
    ? [{ refusal: `No action found. Write one as ${actionHint ?? actionPattern.source}` }]
    : [{ action: { type: 'text', text: text.trim() } }];
}

/** Time limit in ms for the search in one response, far above what a good pattern needs. */
const longestSearchMs = 1000;

function lastMatch(pattern: RegExp, text: string): RegExpExecArray | undefined {
  const found = withinMs(longestSearchMs, () => [...text.matchAll(pattern)].at(-1));
  if (found) return found.value;
  throw new WorkflowError(
    `The action pattern ${pattern.source} (workflow_args.action_pattern or, for playEpisode, actionPattern) takes more than ${longestSearchMs / 1000} s to search a response of ${text.length} characters. Write a pattern without nested repetitions such as (a+)+, and with few parts such as .* that match any text.`,
    { code: 'ACTION_PATTERN_SLOW' },
  );
}

function readCall(
  { function: { name, arguments: given } }: ToolCall,
  tools: readonly ToolDefinition[],
): ReadAction {
  const names = tools.map((tool) => tool.function.name);
  if (!names.includes(name))
    return { refusal: `There is no tool "${name}". Tools: ${names.join(', ') || 'none'}.` };
  const args = parsed(given);
  return args === undefined
    ? { refusal: `The arguments of "${name}" are not a JSON object.` }
    : { action: { type: 'tool', name, arguments: args } };
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = tryJson(text === '' ? '{}' : text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
