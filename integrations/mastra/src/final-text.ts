/** The final answer of an agent, without the text of earlier turns. */

/** Relevant part of the result of `agent.generate()`, or of `getFullOutput()` of a stream. */
export interface AgentOutput {
  readonly text: string;
  readonly steps: readonly { readonly text: string }[];
  readonly error?: Error | undefined;
}

/**
 * Returns the text of the last turn; `generate().text` would join the text of all turns. Empty if
 * the agent stopped at a tool call.
 * @throws the `error` of the output, which a stream reports without throwing it
 */
export function finalText({ text, steps, error }: AgentOutput): string {
  if (error) throw error;
  return steps.at(-1)?.text ?? text;
}
