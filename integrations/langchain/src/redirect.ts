/** The model of a run for graphs that were made before the run. */
import type { ChatOpenAI } from '@langchain/openai';
import type { Runtime } from '@trinity-rft/core';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { createAgent, createMiddleware, type AgentMiddleware, type ReactAgent } from 'langchain';
import { langchainModel, type LangchainModelOptions } from './model.js';

/**
 * Where the run's model travels in a run's configuration. LangGraph copies only plain values of it
 * into checkpoints.
 */
const key = 'trinity_model' as const;

interface WithConfigurable {
  readonly configurable?: Readonly<Record<string, unknown>> | undefined;
}

export interface RunConfigOptions extends LangchainModelOptions {
  readonly endpoint: AgentEndpoint;
  readonly runtime: Pick<Runtime, 'newId'>;
  readonly signal: AbortSignal;
}

/** What to pass to `invoke` and `stream` beside the input. */
export interface RunConfig {
  readonly configurable: { readonly thread_id: string; readonly [key]: ChatOpenAI };
  readonly signal: AbortSignal;
}

/**
 * The configuration of one run: its model for {@link redirectModel} and {@link runModel}, and a
 * thread that no other run shares.
 */
export function runConfig({ endpoint, runtime, signal, ...options }: RunConfigOptions): RunConfig {
  return {
    configurable: { thread_id: runtime.newId('thread'), [key]: langchainModel(endpoint, options) },
    signal,
  };
}

/** The model that a run's configuration carries. */
export function modelOf({ configurable }: RunConfig): ChatOpenAI {
  return configurable[key];
}

/**
 * The run's model within a node of a graph, or `own` where there is no run: `runModel(config,
 * productionModel).invoke(...)`.
 */
export function runModel<Own>(config: WithConfigurable | undefined, own: Own): Own | ChatOpenAI {
  return (config?.configurable?.[key] as ChatOpenAI | undefined) ?? own;
}

/**
 * Middleware of `createAgent` that asks the model of each invocation's {@link runConfig} in place
 * of the agent's own, which still serves invocations without one. So an agent object can serve many
 * runs at once. Put it last: what stands after it may choose another model.
 */
export function redirectModel(): AgentMiddleware {
  return createMiddleware({
    name: 'trinity-redirect-model',
    wrapModelCall: (request, handler) =>
      handler({ ...request, model: runModel(request.runtime, request.model) }),
  });
}

// The framework's own signatures take agents of any type this way.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyAgent = ReactAgent<any>;

/**
 * A copy of an agent made with `createAgent`, with {@link redirectModel} as its last middleware.
 * Its `withConfig` settings are not copied.
 */
export function redirected<Agent extends AnyAgent>({ options }: Agent): Agent {
  const middleware = [...(options.middleware ?? []), redirectModel()];
  return createAgent({ ...options, middleware } as never) as unknown as Agent;
}
