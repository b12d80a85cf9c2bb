/** Options that make calls to a Mastra agent part of a rollout. */
import { randomUUID } from 'node:crypto';
import type { WorkflowContext } from '@trinity-rft/workflow';
import { mastraModel, type MastraModel, type MastraModelOptions } from './model.js';

/** Options for `agent.generate(messages, options)` and `agent.stream(messages, options)`. */
export interface MastraRunOptions {
  readonly model: MastraModel;
  readonly abortSignal: AbortSignal;
  /**
   * Thread and resource of this rollout, so that memories of other rollouts do not change its
   * prompts.
   */
  readonly memory: { readonly thread: string; readonly resource: string };
}

/**
 * Creates the options of a rollout. Create them once per rollout, and use them for all its calls.
 * One agent object can serve many rollouts.
 */
export function mastraRunOptions(
  { model, runtime, signal }: Pick<WorkflowContext, 'model' | 'runtime' | 'signal'>,
  options: MastraModelOptions = {},
): MastraRunOptions {
  // The id is random, because several processes may use one memory, which may outlive them.
  const id = `${runtime.newId('mastra')}_${randomUUID()}`;
  return {
    model: mastraModel(model.endpoint(), options),
    abortSignal: signal,
    memory: { thread: id, resource: id },
  };
}
