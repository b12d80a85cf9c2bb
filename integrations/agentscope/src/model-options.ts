/** Settings with which AgentScope's `OpenAIChatModel` uses the model of a rollout. */
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { turnFormatter, type InnerFormatter, type TurnFormatter } from './turn-formatter.js';

export interface AgentscopeModelOptions {
  /**
   * Formatter that converts each turn. Must be given for agents that use images.
   * @default a formatter for text, tool calls and tool results
   */
  readonly formatter?: InnerFormatter;
  /** True to stream responses. @default false */
  readonly stream?: boolean;
}

/** Constructor argument of AgentScope's `OpenAIChatModel`. */
export interface AgentscopeModelSettings extends Omit<
  ReturnType<AgentEndpoint['agentscope']>,
  'stream'
> {
  readonly stream: boolean;
  readonly formatter: TurnFormatter;
}

/**
 * Returns the settings of `endpoint.agentscope()`, and a formatter that keeps the turns of a reply
 * separate. AgentScope calls the model over HTTP.
 */
export function agentscopeModel(
  endpoint: Pick<AgentEndpoint, 'agentscope'>,
  { formatter, stream = false }: AgentscopeModelOptions = {},
): AgentscopeModelSettings {
  return { ...endpoint.agentscope(), stream, formatter: turnFormatter(formatter) };
}
