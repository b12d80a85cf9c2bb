/** Replaces the `Model` instance of an agent, which a runner cannot override. */
import { Handoff, type Agent, type Model, type Tool } from '@openai/agents';
import { WorkflowError } from '@trinity-rft/core';

/** Rebuilds a tool that was made from an agent. `redirect` copies an agent with the new model. */
export type AgentToolMaker = (redirect: <A extends AnyAgent>(agent: A) => A) => Tool;

export interface WithModelOptions {
  /**
   * Functions that rebuild the tools made with `asTool`, by tool name, because the SDK does not
   * expose their agents. `keep` is for agents without a `Model` instance, which use the model of
   * the runner.
   */
  readonly agentTools?: Readonly<Record<string, AgentToolMaker | 'keep'>>;
}

// The SDK declares agents of any context and output like this.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyAgent = Agent<any, any>;

/**
 * Returns a copy of `agent` that uses `model`, with copies of its handoffs, which may be cyclic.
 * The SDK does not copy listeners of agents.
 * @throws WorkflowError for a tool made with `asTool` that is missing in the options
 */
export function withModel<A extends AnyAgent>(
  agent: A,
  model: Model,
  { agentTools = {} }: WithModelOptions = {},
): A {
  const copies = new Map<AnyAgent, AnyAgent>();

  const redirect = <B extends AnyAgent>(original: B): B => {
    const known = copies.get(original);
    if (known) return known as B;
    const copy = original.clone({ model, handoffs: [], tools: [] }) as B;
    copies.set(original, copy);
    copy.handoffs = original.handoffs.map((target) =>
      target instanceof Handoff
        ? target.clone({ agent: redirect(target.agent) })
        : redirect(target as AnyAgent),
    );
    copy.tools = original.tools.map(redirectTool);
    return copy;
  };

  const redirectTool = (tool: Tool): Tool => {
    if (!isAgentTool(tool)) return tool;
    const maker = agentTools[tool.name];
    if (maker === undefined) throw unknownAgentTool(tool.name);
    return maker === 'keep' ? tool : maker(redirect);
  };

  return redirect(agent);
}

/** Returns true for tools made with `asTool`, the only tools that have listeners. */
const isAgentTool = (tool: Tool): boolean =>
  tool.type === 'function' && typeof (tool as { readonly on?: unknown }).on === 'function';

function unknownAgentTool(name: string): WorkflowError {
  return new WorkflowError(
    `The tool "${name}" is an agent that the SDK does not expose, ` +
      'so its model cannot be replaced. Create the tool again: ' +
      `withModel(agent, model, { agentTools: { ${JSON.stringify(name)}: ` +
      '(redirect) => redirect(itsAgent).asTool({ ... }) } }); ' +
      'or pass "keep", if that agent has no Model instance.',
    { code: 'AGENT_TOOL_UNKNOWN' },
  );
}
