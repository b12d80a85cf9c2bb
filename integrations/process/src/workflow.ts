/** A program as a workflow. */
import { taskPrompt } from '@trinity-rft/core';
import {
  defineWorkflow,
  scoreAnswer,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowResult,
} from '@trinity-rft/workflow';
import { runCommand, type Command, type CommandResult } from './run-command.js';

export interface ProcessContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
}

export interface ProcessWorkflowOptions {
  /** What `default_workflow_type` says. */
  readonly name: string;
  /** What to run for a task. */
  readonly command: (context: ProcessContext) => Command;
  /** @default what the program wrote to its standard output goes to the task's reward function */
  readonly score?: (
    result: CommandResult,
    context: ProcessContext,
  ) => Promise<WorkflowResult> | WorkflowResult;
}

/**
 * Every run starts the program anew. Its calls to the model are recorded whatever language it is
 * written in. Metrics of the run: `process_seconds`. @throws ConfigError when the name cannot be
 * used
 */
export function processWorkflow({
  name,
  command,
  score = byRewardFn,
}: ProcessWorkflowOptions): WorkflowDefinition {
  return defineWorkflow({
    name,
    run: async (given) => {
      const context = { ...given, question: taskPrompt(given.task) ?? '' };
      const result = await runCommand(given.model.endpoint(), command(context), given.signal);
      return withSeconds(await score(result, context), result.seconds);
    },
  });
}

const byRewardFn = ({ text }: CommandResult, context: ProcessContext): Promise<WorkflowResult> =>
  scoreAnswer(context, text);

function withSeconds(result: WorkflowResult, seconds: number): WorkflowResult {
  const output = typeof result === 'number' ? { reward: result } : result;
  return 'reward' in output
    ? { ...output, metrics: { process_seconds: seconds, ...output.metrics } }
    : output;
}
