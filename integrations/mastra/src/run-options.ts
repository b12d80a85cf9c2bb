/** Options that connect the calls of a Mastra agent to a rollout. */
import { randomUUID } from 'node:crypto';
import type { WorkflowContext } from '@trinity-rft/workflow';
import { mastraModel, type MastraModel, type MastraModelOptions } from './model.js';

/** Options to pass to `agent.generate(messages, options)` and `agent.stream(messages, options)`. */
export interface MastraRunOptions {
  readonly model: MastraModel;
  readonly abortSignal: AbortSignal;
  /**
   * Memory thread and resource of this rollout. They are new, so that memories of other rollouts
   * cannot change its prompts.
   */
  readonly memory: { readonly thread: string; readonly resource: string };
}

/**
 * Creates the options of a rollout. Create them once per rollout and pass them to all its calls.
 * The agent object can be shared by many rollouts.
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
