/**
 * `openai_grader_workflow`: uses rows in the format of OpenAI's reinforcement fine-tuning, and
 * scores answers with OpenAI's graders.
 */
import {
  RewardError,
  TaskError,
  type ChatMessage,
  type ChatResponse,
  type Experience,
  type Task,
  type ToolDefinition,
  withFields,
} from '@trinity-rft/core';
import { z } from 'zod';
import { auxiliaryModel } from '../../auxiliary/find-auxiliary-model.js';
import { readWorkflowArgs } from '../../definition/workflow-args.js';
import {
  checkGraderRow,
  createGrader,
  graderSample,
  graderSchema,
  needsPython,
  type AnswerGrader,
  type CompleteFn,
} from '../../reward/index.js';
import { chatOptions, trueOrFalse } from '../task-args.js';
import { SimpleWorkflow } from './simple-workflow.js';

/**
 * Schema of `workflow_args`. `grader`: a grader as in a fine-tuning job. `python_graders`: true to
 * allow graders that execute code on this machine.
 */
export const openaiGraderArgs = z
  .strictObject({ grader: graderSchema, python_graders: trueOrFalse().default(false) })
  .superRefine(({ grader, python_graders: isAllowed }, context) => {
    if (needsPython(grader) && !isAllowed)
      context.addIssue({
        code: 'custom',
        path: ['python_graders'],
        message:
          'expected true: the grader runs Python code on this machine, with your rights. Set it if you trust the code',
      });
  });

const content = z.union(
  [z.string(), z.null(), z.array(z.strictObject({ type: z.literal('text'), text: z.string() }))],
  'expected text, or parts { type: text, text }',
);

/** Columns of a row that are sent to the model. All other columns are for the grader. */
const rowSchema = z.object({
  messages: z
    .array(
      z.looseObject({
        role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
        content: content.optional(),
      }),
    )
    .refine((messages) => ['user', 'developer'].includes(messages.at(-1)?.role ?? ''), {
      error: 'the last message is not from user or developer',
    }),
  tools: z
    .array(
      z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
    )
    .nullish(),
});

interface Row {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
}

/**
 * Sends the columns `messages` and `tools` of the row, and scores the answer with
 * `workflow_args.grader`, which reads the row as `item`. If a grader calls a model, the auxiliary
 * model of that name is called. If the grader fails for one answer, only this rollout fails, not
 * its group.
 */
export class OpenaiGraderWorkflow extends SimpleWorkflow {
  static override readonly canRepeat = false;

  override async run(): Promise<readonly Experience[]> {
    const grader = this.grader();
    const responses = await this.respond();
    return this.eachOf(responses, async (response, index) =>
      this.experienceOf(response, index, await this.graded(grader, response)),
    );
  }

  protected override respond(): Promise<readonly ChatResponse[]> {
    const { messages, tools } = readRow(this.task);
    return this.model.chat(messages, {
      n: this.repeatTimes,
      signal: this.signal,
      tools,
      ...chatOptions(this.task.rolloutArgs),
    });
  }

  protected override experienceOf(...args: Parameters<SimpleWorkflow['experienceOf']>): Experience {
    return withFields(super.experienceOf(...args), { promptText: lastText(this.task) });
  }

  private grader(): AnswerGrader {
    const { grader, python_graders: python } = readWorkflowArgs(
      openaiGraderArgs,
      this.task.workflowArgs,
    );
    return createGrader(grader, { complete: this.complete, python });
  }

  private readonly complete: CompleteFn = async (name, request, signal) => {
    const model = auxiliaryModel(this.auxiliaryModels, name);
    const { choices, usage } = await model
      .openaiClient()
      .chat.completions.create({ model: model.modelPath, ...request }, { signal });
    const { content: text, refusal } = choices[0]!.message;
    return { text: text ?? '', refusal, usage };
  };

  /**
   * Scores an answer.
   * @throws RewardError if the grader fails, because a failure is not a reward of 0
   */
  private async graded(grader: AnswerGrader, response: ChatResponse) {
    const { responseText, toolCalls, finishReason } = response;
    const { reward, subRewards, message } = await grader.grade({
      item: this.task.rawTask,
      sample: graderSample(responseText, toolCalls, finishReason),
      signal: this.signal,
    });
    if (reward !== undefined) return { reward, metrics: subRewards };
    throw new RewardError(message ?? 'The grader failed.', { code: 'GRADER_FAILED' });
  }
}

/**
 * Checks the row of a task.
 * @throws TaskError if the row cannot be sent, or the grader reads a column that the row lacks
 */
export function checkOpenaiRow(task: Task): void {
  readRow(task);
  const { grader } = readWorkflowArgs(openaiGraderArgs, task.workflowArgs);
  try {
    checkGraderRow(grader, task.rawTask);
  } catch (error) {
    throw rowError(task, (error as Error).message);
  }
}

function readRow(task: Task): Row {
  const { messages, tools } = task.rawTask;
  const { error } = rowSchema.safeParse({ messages, tools });
  const [problem] = error?.issues ?? [];
  if (problem) throw rowError(task, `${problem.path.join('.')}: ${problem.message}`);
  return {
    messages: messages as readonly ChatMessage[],
    tools: (tools ?? []) as readonly ToolDefinition[],
  };
}

function lastText(task: Task): string {
  const { content: last } = readRow(task).messages.at(-1) ?? {};
  return typeof last === 'string' ? last : (last ?? []).map(({ text }) => text).join('\n');
}

const rowError = ({ index }: Task, problem: string): TaskError =>
  new TaskError(
    `Row ${index.row} of task set "${index.taskset}": ${problem.replace(/\.$/, '')}. ` +
      'Expected a row of reinforcement fine-tuning: messages that end with one from user or developer, tools, and what the grader reads.',
    { code: 'TASK_ROW_INVALID' },
  );
