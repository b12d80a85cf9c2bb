/** A program as a workflow. */
import {
  defineWorkflow,
  requirePrompt,
  scoreAnswer,
  type AnyArgs,
  type ArgsSchema,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowResult,
} from '@trinity-rft/workflow';
import { runCommand, type Command, type CommandResult } from './run-command.js';

export interface ProcessContext extends WorkflowContext {
  /** The task's prompt. */
  readonly question: string;
}

export interface ProcessWorkflowOptions<Args = AnyArgs> {
  /** The value of `default_workflow_type`. */
  readonly name: string;
  /**
   * The schema of `workflow_args`, in zod or another library of Standard Schema.
   * @default anything goes
   */
  readonly args?: ArgsSchema<Args>;
  /** The command for a task. */
  readonly command: (context: ProcessContext, args: Args) => Command;
  /** @default the task's reward function scores the standard output */
  readonly score?: (
    result: CommandResult,
    context: ProcessContext,
  ) => Promise<WorkflowResult> | WorkflowResult;
}

/**
 * Every run starts the program once and records its calls of the model. The metric
 * `process_seconds` is its duration.
 * @throws ConfigError for an invalid name
 */
export function processWorkflow<Args = AnyArgs>({
  name,
  args: schema,
  command,
  score = byRewardFn,
}: ProcessWorkflowOptions<Args>): WorkflowDefinition {
  return defineWorkflow<Args>({
    name,
    args: schema,
    needs: { prompt: true },
    run: async (given, args) => {
      const context = { ...given, question: requirePrompt(given.task) };
      const result = await runCommand(given.model.endpoint(), command(context, args), given.signal);
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
