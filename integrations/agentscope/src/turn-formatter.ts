/** A formatter for AgentScope's chat models that keeps the turns of a reply apart. */
import type { ContentBlock, Message, OutputBlock } from './message.js';
import { splitTurns } from './split-turns.js';
import { outputText, wireMessages } from './text-formatter.js';

/** What AgentScope's chat models want of a `formatter`. */
export interface TurnFormatter {
  /** The `messages` of a request. */
  format(options: {
    msgs: readonly Message<Pick<ContentBlock, 'type' | 'id'>>[];
  }): Promise<Record<string, unknown>[]>;
  /** Part of AgentScope's interface. */
  convertToolOutputToString(output: string | readonly OutputBlock[]): {
    text: string;
    promotedMsg: null;
  };
}

/** A formatter of AgentScope, `new OpenAIChatFormatter()` say. */
export interface InnerFormatter {
  format(options: { msgs: never[] }): Promise<Record<string, unknown>[]>;
}

/**
 * The agent keeps one assistant message per reply, and the default formatter sends first all its
 * texts and calls, then all results: from the third call of the model on, the prompt is not what
 * the model has read and written before. This one ends the message at the results of each turn, so
 * that every prompt continues the one before.
 * @param inner prints each turn; needed where messages hold images. @default text, tool calls and
 * results
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
