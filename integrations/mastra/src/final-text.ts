/** The answer of an agent, apart from what it said on the way there. */

/**
 * What `agent.generate()` gives, and `getFullOutput()` of what `agent.stream()` gives, as far as it
 * matters here.
 */
export interface AgentOutput {
  readonly text: string;
  readonly steps: readonly { readonly text: string }[];
  readonly error?: Error | undefined;
}

/**
 * The text of the last turn: `generate().text` joins the texts of all turns. Empty when the agent
 * stopped on a tool call.
 * @throws what the run failed with, which a stream only tells
 */
export function finalText({ text, steps, error }: AgentOutput): string {
  if (error) throw error;
  return steps.at(-1)?.text ?? text;
}
