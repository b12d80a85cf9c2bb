/** Returns the final answer of an agent, without the text of earlier turns. */

/**
 * Result of `agent.generate()`, or of `getFullOutput()` of a stream, reduced to the part that is
 * used.
 */
export interface AgentOutput {
  readonly text: string;
  readonly steps: readonly { readonly text: string }[];
  readonly error?: Error | undefined;
}

/**
 * Returns the text of the last turn, unlike `generate().text`, which joins the text of all turns.
 * The text is empty if the agent stopped at a tool call.
 * @throws the `error` of the output; streams report errors there instead of throwing them
 */
export function finalText({ text, steps, error }: AgentOutput): string {
  if (error) throw error;
  return steps.at(-1)?.text ?? text;
}
