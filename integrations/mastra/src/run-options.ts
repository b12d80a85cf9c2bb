/** Options that make a call of a Mastra agent part of a run. */
import type { WorkflowContext } from '@trinity-rft/workflow';
import { mastraModel, type MastraModel, type MastraModelOptions } from './model.js';

/** Options for `agent.generate(messages, options)` and `agent.stream(messages, options)`. */
export interface MastraRunOptions {
  readonly model: MastraModel;
  readonly abortSignal: AbortSignal;
  /** Thread and resource of this run, so that memories of other runs do not change its prompts. */
  readonly memory: { readonly thread: string; readonly resource: string };
}

/**
 * Creates the options of a run. Create them once per run and use them for all its calls. One agent object can serve
 * many runs.
 */
export function mastraRunOptions(
  { model, runtime, signal }: Pick<WorkflowContext, 'model' | 'runtime' | 'signal'>,
  options: MastraModelOptions = {},
): MastraRunOptions {
  // The time makes the id unique: newId is only unique within this process, and memories may
  // outlive it.
  const id = `${runtime.newId('mastra')}_${runtime.clock.now()}`;
  return {
    model: mastraModel(model.endpoint(), options),
    abortSignal: signal,
    memory: { thread: id, resource: id },
  };
}
