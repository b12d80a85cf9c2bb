/** Redirects agents and graphs that were created before a rollout to the rollout's model. */
import { randomUUID } from 'node:crypto';
import type { ChatOpenAI } from '@langchain/openai';
import type { Runtime } from '@trinity-rft/core';
import type { AgentEndpoint } from '@trinity-rft/workflow';
import { createAgent, createMiddleware, type AgentMiddleware, type ReactAgent } from 'langchain';
import { langchainModel, type LangchainModelOptions } from './model.js';

const key = 'trinity_model' as const;

interface WithConfigurable {
  readonly configurable?: Readonly<Record<string, unknown>> | undefined;
}

export interface RunConfigOptions extends LangchainModelOptions {
  readonly endpoint: AgentEndpoint;
  readonly runtime: Pick<Runtime, 'newId'>;
  readonly signal: AbortSignal;
}

/** Configuration of a rollout: the second argument of `invoke` and `stream`. */
export interface RunConfig {
  readonly configurable: { readonly thread_id: string; readonly [key]: ChatOpenAI };
  readonly signal: AbortSignal;
}

/**
 * Creates the configuration of a rollout. It contains the rollout's model, for {@link
 * redirectModel} and {@link runModel}, and the id of a new thread.
 */
export function runConfig({ endpoint, runtime, signal, ...options }: RunConfigOptions): RunConfig {
  // The id is random, because several processes may use one checkpointer, which may outlive them.
  const threadId = `${runtime.newId('thread')}_${randomUUID()}`;
  return {
    configurable: { thread_id: threadId, [key]: langchainModel(endpoint, options) },
    signal,
  };
}

/** Returns the model that the configuration of a rollout contains. */
export function modelOf({ configurable }: RunConfig): ChatOpenAI {
  return configurable[key];
}

/**
 * Returns the model that a graph node should use: the rollout's model or, outside of rollouts,
 * `own`. Example: `runModel(config, productionModel).invoke(...)`.
 */
export function runModel<Own>(config: WithConfigurable | undefined, own: Own): Own | ChatOpenAI {
  return (config?.configurable?.[key] as ChatOpenAI | undefined) ?? own;
}

/**
 * Creates middleware for `createAgent` that replaces the agent's model with the model in {@link
 * runConfig}, so that one agent object can serve many rollouts. It must be the last middleware,
 * because later middleware may choose another model.
 */
export function redirectModel(): AgentMiddleware {
  return createMiddleware({
    name: 'trinity-redirect-model',
    wrapModelCall: (request, handler) =>
      handler({ ...request, model: runModel(request.runtime, request.model) }),
  });
}

// The framework declares agents of any type like this.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyAgent = ReactAgent<any>;

/**
 * Returns a copy of an agent that was created with `createAgent`, with {@link redirectModel} as its
 * last middleware. Settings made with the agent's `withConfig` are not copied.
 */
export function redirected<Agent extends AnyAgent>({ options }: Agent): Agent {
  const middleware = [...(options.middleware ?? []), redirectModel()];
  return createAgent({ ...options, middleware } as never) as unknown as Agent;
}
