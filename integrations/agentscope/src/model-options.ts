/** The model of a run as AgentScope knows models. */
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { turnFormatter, type InnerFormatter, type TurnFormatter } from './turn-formatter.js';

export interface AgentscopeModelOptions {
  /** Prints each turn; needed where messages hold images. @default text, tool calls and results */
  readonly formatter?: InnerFormatter;
  /** Whether answers come in pieces. @default false */
  readonly stream?: boolean;
}

/** For `new OpenAIChatModel(settings)`. */
export interface AgentscopeModelSettings extends Omit<
  ReturnType<AgentEndpoint['agentscope']>,
  'stream'
> {
  readonly stream: boolean;
  readonly formatter: TurnFormatter;
}

/**
 * `endpoint.agentscope()` with the formatter that keeps turns apart. AgentScope reaches the model
 * over HTTP.
 */
export function agentscopeModel(
  endpoint: Pick<AgentEndpoint, 'agentscope'>,
  { formatter, stream = false }: AgentscopeModelOptions = {},
): AgentscopeModelSettings {
  return { ...endpoint.agentscope(), stream, formatter: turnFormatter(formatter) };
}
