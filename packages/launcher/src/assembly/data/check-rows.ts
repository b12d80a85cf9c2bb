/** Checks that the rows of a task set have the columns that its configuration names. */
import type { TasksetConfig } from '@trinity-rft/config';
import { describeError, type RawTask, type Task } from '@trinity-rft/core';
import { fieldOf, hasValue } from '@trinity-rft/core/internal';
import { redactText } from '@trinity-rft/core/support';
import { toTask } from '@trinity-rft/explorer';
import type { TaskParts } from '../../context/stage-context.js';

interface RowProblem {
  /** Path of the configuration key, relative to the task set. */
  readonly key: readonly string[];
  readonly message: string;
}

export interface RowFindings {
  /** Problems that make every rollout of the task set fail. */
  readonly problems: readonly RowProblem[];
  /** Problems that make some rollouts of the task set fail. */
  readonly warnings: readonly RowProblem[];
}

const defaults = { promptKey: 'prompt', responseKey: 'response' } as const;

/** Returns the path of a task set for messages, or says that its tasks are generated. */
export const sourceOf = ({ path }: TasksetConfig): string =>
  path === '' ? 'the generated tasks' : redactText(path);

/** Finds columns that the configuration names but the rows lack, and rows that cannot be used. */
export function checkRowKeys(
  rows: readonly RawTask[],
  taskset: TasksetConfig,
  parts: TaskParts,
): RowFindings {
  const path = sourceOf(taskset);
  const keys = keysOf(rows[0]);
  const problems: RowProblem[] = [];
  const warnings: RowProblem[] = [...unreadSettings(taskset, parts)];
  for (const { key, name, needed, optional } of namedKeys(taskset, parts)) {
    const count = rows.filter((row) => hasValue(fieldOf(row, name))).length;
    const place = { key: ['format', key] };
    if (count === 0) {
      const message = `got ${JSON.stringify(name)}, but no row of ${path} has a value there; the keys of its first row are ${keys}. Name the right one.`;
      (optional ? warnings : problems).push({ ...place, message });
    } else if (needed && count < rows.length) {
      const first = rows.findIndex((row) => !hasValue(fieldOf(row, name)));
      const message = `${rows.length - count} of ${rows.length} rows of ${path} have no value under ${JSON.stringify(name)}, the first of them row ${first}, whose keys are ${keysOf(rows[first])}; the runs of these tasks fail.`;
      warnings.push({ ...place, message });
    }
  }
  // A missing column makes every row unusable, so the single rows are not checked.
  if (problems.length > 0) return { problems, warnings };
  const misfits = rows.flatMap((rawTask, row) => misfit(taskOf(rawTask, row, taskset), parts));
  const [first] = misfits;
  if (first === undefined) return { problems, warnings };
  const isAll = misfits.length === rows.length;
  const count = isAll
    ? `No row of ${path} can be used`
    : `${misfits.length} of ${rows.length} rows of ${path} cannot be used; the runs of these tasks fail`;
  (isAll ? problems : warnings).push({ key: ['path'], message: `${count}: ${first}` });
  return { problems, warnings };
}

const keysOf = (row: RawTask = {}): string => Object.keys(row).join(', ') || 'none';

const taskOf = (rawTask: RawTask, row: number, taskset: TasksetConfig): Task =>
  toTask({ row, rawTask }, taskset, { batchId: 0, taskId: row, isEval: taskset.isEval });

/**
 * Returns a message about the first problem of a row, or an empty list if there is none. A problem
 * is a missing column that the workflow or the reward function needs, or a row that the workflow
 * cannot read.
 */
function misfit(task: Task, { workflows, rewardFns }: TaskParts): readonly string[] {
  const { workflow, rewardFn, rawTask, index } = task;
  const needs = workflows.find(workflow)?.needs;
  const ofReward = rewardFn === undefined ? undefined : rewardFns.find(rewardFn)?.needs;
  for (const [owner, columns] of [
    [workflow, needs?.columns],
    [rewardFn, ofReward?.columns],
  ] as const)
    for (const column of columns ?? []) {
      const any = [column].flat();
      if (any.some((name) => hasValue(fieldOf(rawTask, name)))) continue;
      const named = any.map((name) => JSON.stringify(name)).join(' or ');
      return [
        `row ${index.row} has no ${named}, which ${owner} needs; its columns are ${keysOf(rawTask)}. Add it, or choose another workflow or reward function.`,
      ];
    }
  try {
    needs?.readRow?.(task);
    return [];
  } catch (error) {
    return [describeError(error)];
  }
}

const keysInYaml = {
  systemPrompt: ['format', 'system_prompt'],
  systemPromptKey: ['format', 'system_prompt_key'],
  replyPrefix: ['format', 'reply_prefix'],
  rewardFn: ['default_reward_fn_type'],
} as const;

/**
 * Returns a warning for each setting of the task set that has no effect on its workflow. Returns
 * none if rows may name other workflows.
 */
function unreadSettings(
  { workflow = '', format, rewardFn, namesRewardFn, workflowArgs }: TasksetConfig,
  { workflows }: TaskParts,
): readonly RowProblem[] {
  if (format.workflowKey !== undefined) return [];
  const { unread = [], ofDefaultReward = [] } = workflows.find(workflow)?.needs ?? {};
  const given = { ...format, rewardFn: namesRewardFn ? rewardFn : undefined };
  const replaced = ofDefaultReward.filter((arg) => rewardFn !== undefined && arg in workflowArgs);
  return [
    ...unread
      .filter((name) => given[name] !== undefined)
      .map((name) => ({
        key: keysInYaml[name],
        message: `has no effect: the workflow "${workflow}" does not read it. Leave it out.`,
      })),
    ...replaced.map((arg) => ({
      key: ['workflow_args', arg],
      message: `has no effect: the reward function "${rewardFn}" replaces the default one of the workflow "${workflow}". Leave one of them out.`,
    })),
  ];
}

interface NamedKey {
  /** Key in the task set's `format` section of the YAML file, whose value is the column's name. */
  readonly key: string;
  readonly name: string;
  /** True if a task cannot be attempted without a value in this column. */
  readonly needed: boolean;
  /** True if a row may omit the column, because another setting replaces it. */
  readonly optional: boolean;
}

/**
 * Returns the columns that the configuration names. Includes a column with its default name only if
 * the workflow needs it.
 */
function namedKeys(taskset: TasksetConfig, parts: TaskParts): readonly NamedKey[] {
  const { format } = taskset;
  const { prompt, truth } = neededBy(taskset, parts);
  const optional = (key: string, name: string | undefined): readonly NamedKey[] =>
    name === undefined ? [] : [{ key, name, needed: false, optional: true }];
  return [
    ...(prompt || format.promptKey !== defaults.promptKey
      ? [{ key: 'prompt_key', name: format.promptKey, needed: prompt, optional: false }]
      : []),
    ...(truth || format.responseKey !== defaults.responseKey
      ? [{ key: 'response_key', name: format.responseKey, needed: truth, optional: false }]
      : []),
    ...optional('system_prompt_key', format.systemPromptKey),
    ...optional('workflow_key', format.workflowKey),
    ...optional('reward_fn_key', format.rewardFnKey),
  ];
}

function neededBy(
  { workflow, rewardFn }: TasksetConfig,
  { workflows, rewardFns }: TaskParts,
): { readonly prompt: boolean; readonly truth: boolean } {
  const needs = workflow === undefined ? undefined : workflows.find(workflow)?.needs;
  const compares = rewardFn === undefined || rewardFns.find(rewardFn)?.needsTruth === true;
  return { prompt: needs?.prompt ?? false, truth: (needs?.truth ?? false) && compares };
}
