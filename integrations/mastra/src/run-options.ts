/** What a call of a Mastra agent needs to belong to a run. */
import type { WorkflowContext } from '@trinity-rft/workflow';
import { mastraModel, type MastraModel, type MastraModelOptions } from './model.js';

/** For `agent.generate(messages, options)` and `agent.stream(messages, options)`. */
export interface MastraRunOptions {
  readonly model: MastraModel;
  readonly abortSignal: AbortSignal;
  /**
   * Of this run alone: what an agent remembers of other runs would change its prompts. Without a
   * memory it means nothing.
   */
  readonly memory: { readonly thread: string; readonly resource: string };
}

/**
 * Equal in all calls of a run when it is made once. The agent's own model stays for calls without
 * it, so one agent serves many runs.
 */
export function mastraRunOptions(
  { model, runtime, signal }: Pick<WorkflowContext, 'model' | 'runtime' | 'signal'>,
  options: MastraModelOptions = {},
): MastraRunOptions {
  // Ids count within one run of the program, and memories may outlive it.
  const id = `${runtime.newId('mastra')}_${runtime.clock.now()}`;
  return {
    model: mastraModel(model.endpoint(), options),
    abortSignal: signal,
    memory: { thread: id, resource: id },
  };
}
