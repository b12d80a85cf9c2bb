/** Creates a formatter for AgentScope's chat models that keeps the turns of a reply separate. */
import type { ContentBlock, Message, OutputBlock } from './message.js';
import { splitTurns } from './split-turns.js';
import { outputText, wireMessages } from './text-formatter.js';

/** Interface that a `formatter` for AgentScope's chat models must have. */
export interface TurnFormatter {
  /** Converts messages to the `messages` of a Chat Completions request. */
  format(options: {
    msgs: readonly Message<Pick<ContentBlock, 'type' | 'id'>>[];
  }): Promise<Record<string, unknown>[]>;
  /** Converts tool output to text. Required by AgentScope's interface. */
  convertToolOutputToString(output: string | readonly OutputBlock[]): {
    text: string;
    promotedMsg: null;
  };
}

/** A formatter of AgentScope, such as `new OpenAIChatFormatter()`. */
export interface InnerFormatter {
  format(options: { msgs: never[] }): Promise<Record<string, unknown>[]>;
}

/**
 * Creates a formatter that sends each turn of a reply as separate messages. AgentScope's agents
 * store all turns of a reply in one assistant message. AgentScope's default formatter places all
 * text and tool calls of this message before all tool results, so that from the third model call
 * on, the prompt would not continue the recorded conversation.
 * @param inner formatter that converts the turns; must be given for images; by default, a formatter
 * for text, tool calls and tool results
 */
export function turnFormatter(inner?: InnerFormatter): TurnFormatter {
  return {
    format: async ({ msgs }) => {
      const turns = msgs.flatMap((message) => splitTurns(message));
      if (inner) return inner.format({ msgs: turns as never[] });
      return (turns as Message[]).flatMap(wireMessages);
    },
    convertToolOutputToString: (output) => ({ text: outputText(output), promotedMsg: null }),
  };
}
