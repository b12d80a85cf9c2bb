/** Settings with which AgentScope's `OpenAIChatModel` calls a rollout's model. */
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { turnFormatter, type InnerFormatter, type TurnFormatter } from './turn-formatter.js';

export interface AgentscopeModelOptions {
  /**
   * Formatter of each turn; required for images.
   * @default a formatter for text, tool calls and tool results
   */
  readonly formatter?: InnerFormatter;
  /** True to stream responses. @default false */
  readonly stream?: boolean;
}

/** Settings for `new OpenAIChatModel(settings)`. */
export interface AgentscopeModelSettings extends Omit<
  ReturnType<AgentEndpoint['agentscope']>,
  'stream'
> {
  readonly stream: boolean;
  readonly formatter: TurnFormatter;
}

/**
 * Returns the settings of `endpoint.agentscope()` with a formatter that keeps turns separate.
 * AgentScope calls the model over HTTP.
 */
export function agentscopeModel(
  endpoint: Pick<AgentEndpoint, 'agentscope'>,
  { formatter, stream = false }: AgentscopeModelOptions = {},
): AgentscopeModelSettings {
  return { ...endpoint.agentscope(), stream, formatter: turnFormatter(formatter) };
}
