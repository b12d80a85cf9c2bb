/**
 * Replaces the model of an agent whose model is a `Model` instance, which a runner cannot override.
 */
import { Handoff, type Agent, type Model, type Tool } from '@openai/agents';
import { WorkflowError } from '@trinity-rft/core';

/**
 * Function that creates a tool from an agent again. It must pass the agent to `redirect`, which
 * returns a copy of the agent with the new model.
 */
export type AgentToolMaker = (redirect: <A extends AnyAgent>(agent: A) => A) => Tool;

export interface WithModelOptions {
  /**
   * Functions that create the tools made with `asTool` again, keyed by tool name. They are needed
   * because the SDK does not give access to the agents of such tools. Use `keep` for tools whose
   * agents have no `Model` instance and therefore use the runner's model.
   */
  readonly agentTools?: Readonly<Record<string, AgentToolMaker | 'keep'>>;
}

// The SDK declares agents of any context and output like this.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyAgent = Agent<any, any>;

/**
 * Returns a copy of `agent` that uses `model`. Its handoffs, which may be cyclic, are copied as
 * well. Listeners of agents are not copied, because the SDK does not copy them.
 * @throws WorkflowError if a tool made with `asTool` is missing in the options
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

/**
 * Returns true for tools made with `asTool`. They are recognized by their listeners, which no other
 * tools have.
 */
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
