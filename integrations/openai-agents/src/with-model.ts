/** Another model for agents that hold a `Model` instance, which no runner can override. */
import { Handoff, type Agent, type Model, type Tool } from '@openai/agents';
import { WorkflowError } from '@trinity-rft/core';

/** How a tool that is an agent is made anew; `redirect` gives any agent the model. */
export type AgentToolMaker = (redirect: <A extends AnyAgent>(agent: A) => A) => Tool;

export interface WithModelOptions {
  /**
   * By tool name, for tools made with `asTool`: the SDK does not tell which agent is behind one.
   * `keep` says that this agent names its model, or none, so that it follows the runner by itself.
   */
  readonly agentTools?: Readonly<Record<string, AgentToolMaker | 'keep'>>;
}

// The SDK's own signatures take agents of any context and output this way.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyAgent = Agent<any, any>;

/**
 * A copy of `agent` that asks `model`, with copies of the agents it hands over to, cycles included.
 * The given agents stay as they are. Listeners on agents are not copied, because the SDK's `clone`
 * does not. @throws WorkflowError on an agent tool that the options do not name
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

/** Tools made with `asTool` are the ones with listeners. */
const isAgentTool = (tool: Tool): boolean =>
  tool.type === 'function' && typeof (tool as { readonly on?: unknown }).on === 'function';

function unknownAgentTool(name: string): WorkflowError {
  return new WorkflowError(
    `The tool "${name}" is an agent, and the SDK does not tell which one, so its model cannot be replaced. Say how to make the tool: withModel(agent, model, { agentTools: { ${JSON.stringify(name)}: (redirect) => redirect(itsAgent).asTool({ ... }) } }); or "keep", if that agent has no Model instance.`,
    { code: 'AGENT_TOOL_UNKNOWN' },
  );
}
