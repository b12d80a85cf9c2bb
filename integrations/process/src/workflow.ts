/** Declares workflows that run programs. */
import { ConfigError, WorkflowError } from '@trinity-rft/core';
import { returnedBy } from '@trinity-rft/core/support';
import {
  defineWorkflow,
  requirePrompt,
  scoreAnswer,
  type AnyArgs,
  type ArgsSchema,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowOutput,
  type WorkflowResult,
} from '@trinity-rft/workflow';
import {
  assertSucceeded,
  assertWhole,
  executeCommand,
  type Command,
  type CommandResult,
} from './run-command.js';

export interface ProcessContext extends WorkflowContext {
  /** User prompt of the task, as text. */
  readonly question: string;
}

export interface ProcessWorkflowOptions<Args = AnyArgs> {
  /** Name with which `default_workflow_type` selects the workflow. */
  readonly name: string;
  /**
   * Schema of `workflow_args`, in zod or another Standard Schema library.
   * @default any arguments
   */
  readonly args?: ArgsSchema<Args>;
  /** Returns the command that runs the program for a task. */
  readonly command: (context: ProcessContext, args: Args) => Command;
  /**
   * Scores the result of the program.
   * @default undefined: the task's reward function scores standard output, and the rollout fails if
   * the output exceeds `transcriptLimit`
   */
  readonly score?: (
    result: CommandResult,
    context: ProcessContext,
  ) => Promise<WorkflowResult> | WorkflowResult;
  /**
   * Handling of programs that fail, which means that a signal ended them or their exit code is not
   * 0. With `score`, their results are also passed to the function `score`. The function must then
   * check the exit code; otherwise, a crash gets the reward of a wrong answer.
   * @default undefined: the rollout fails if the program fails
   */
  readonly failures?: 'score';
}

/**
 * Declares a workflow that starts a program once per rollout and records the program's model calls.
 * The metric `process_seconds` is the duration of the program.
 * @throws ConfigError for an invalid name, or `failures` without `score`
 */
export function processWorkflow<Args = AnyArgs>({
  name,
  args: schema,
  command,
  score,
  failures,
}: ProcessWorkflowOptions<Args>): WorkflowDefinition {
  if (failures !== undefined && (failures !== 'score' || score === undefined))
    throw new ConfigError(
      `Workflow "${name}": failures is ${JSON.stringify(failures)}${score ? '' : ' without score'}; expected "score", beside a function score, or nothing.`,
      { code: 'PROCESS_FAILURES' },
    );
  return defineWorkflow<Args>({
    name,
    args: schema,
    needs: { prompt: true },
    run: async (given, args) => {
      const context = { ...given, question: requirePrompt(given.task) };
      const made = checked(name, command(context, args));
      const result = await executeCommand(given.model.endpoint(), made, given.signal);
      if (failures === undefined) assertSucceeded(made, result);
      if (!score) assertWhole(made, result);
      const scored = score ? score(result, context) : scoreAnswer(context, result.text);
      return withSeconds(await scored, result.seconds);
    },
  });
}

function checked(name: string, made: Command): Command {
  const by = returnedBy(
    `The command function of workflow "${name}"`,
    (message) => new WorkflowError(message, { code: 'WORKFLOW_RESULT' }),
  );
  const { command } = by.fields(made, ['command'], '{ command, args }');
  by.text(command, ' as command');
  return made;
}

/**
 * Adds the metric `process_seconds` to a score. Returns an invalid score unchanged, because the
 * explorer reports it.
 */
function withSeconds(result: WorkflowResult, seconds: number): WorkflowResult {
  const isBare = typeof result === 'number' || typeof result === 'boolean';
  const output: unknown = isBare ? { reward: result } : result;
  if (typeof output !== 'object' || output === null || !('reward' in output)) return result;
  const score = output as WorkflowOutput;
  return { ...score, metrics: { process_seconds: seconds, ...score.metrics } };
}
