/** Options that make a call of a Mastra agent part of a rollout. */
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
 * Creates the options of a rollout. Create them once per rollout, and use them for all calls of the
 * rollout. One agent object can serve many rollouts.
 */
export function mastraRunOptions(
  { model, runtime, signal }: Pick<WorkflowContext, 'model' | 'runtime' | 'signal'>,
  options: MastraModelOptions = {},
): MastraRunOptions {
  // The time makes the id unique: newId is only unique within this process, and memories may
  // outlive the process.
  const id = `${runtime.newId('mastra')}_${runtime.clock.now()}`;
  return {
    model: mastraModel(model.endpoint(), options),
    abortSignal: signal,
    memory: { thread: id, resource: id },
  };
}
