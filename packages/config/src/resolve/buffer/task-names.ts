/** Checks the names and arguments of a task set's workflow and reward function. */
import { describeError } from '@trinity-rft/core';
import { didYouMean } from '@trinity-rft/core/support';
import type { RunInput } from '../../schema/root.js';
import { showValue } from '../../source/secrets.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { NameTable, WorkflowFacts } from '../base/names.js';
import type { AuxiliaryModelConfig, TasksetConfig } from '../base/resolved.js';

type TasksetInput = RunInput['buffer']['explorer_input']['tasksets'][number];

interface Parts {
  readonly place: KeyPath;
  readonly input: TasksetInput;
  readonly taskset: TasksetConfig;
  readonly auxiliaryModels: readonly AuxiliaryModelConfig[];
}

interface Named extends Parts {
  readonly name: string;
  readonly needs: NonNullable<WorkflowFacts['needs']>;
}

const shared: KeyPath = ['buffer', 'explorer_input'];

/**
 * Checks the names of one task set. Reports problems at the key that sets the name: the key of the
 * task set, or the default of all task sets.
 */
export function checkTaskNames(context: StageContext, parts: Parts): void {
  checkWorkflow(context, parts);
  checkReward(context, parts);
}

function checkWorkflow(context: StageContext, parts: Parts): void {
  const { place, input, taskset } = parts;
  const { workflow: name, isEval } = taskset;
  if (name === undefined || context.workflows === undefined) return;
  const at = keyOf(context, place, [
    'default_workflow_type',
    ...(isEval ? ['default_eval_workflow_type'] : []),
  ]);
  const facts = factsOf(context, at, 'workflow', context.workflows, name);
  if (facts === undefined) return;
  const problems = facts.checkArgs?.(input.workflow_args) ?? [];
  for (const { path, message } of problems)
    context.report([...place, 'workflow_args', ...path], message, [at]);
  const named: Named = { ...parts, name, needs: facts.needs ?? {} };
  if (problems.length === 0) checkModels(context, at, named);
  checkWorkflowNeeds(context, at, named);
}

/**
 * Reports auxiliary models that the arguments name but the file lacks, because every rollout would
 * fail.
 */
function checkModels(
  context: StageContext,
  at: KeyPath,
  { place, input, auxiliaryModels, name, needs }: Named,
): void {
  const known = auxiliaryModels.map((model) => model.name);
  const asked = needs.models?.(input.workflow_args) ?? [];
  for (const model of asked.filter((one) => !known.includes(one)))
    context.report(
      [...place, 'workflow_args'],
      `"${name}" asks the auxiliary model "${model}" with these arguments, but explorer.auxiliary_models has ${known.length === 0 ? 'none' : known.join(', ')}.${didYouMean(model, known)} Add one with name: ${model}.`,
      [at],
    );
}

/** Reports a missing reward function or auxiliary model, because every rollout would fail. */
function checkWorkflowNeeds(
  context: StageContext,
  at: KeyPath,
  { place, input, taskset, auxiliaryModels, name, needs }: Named,
): void {
  if (
    needs.rewardFn === true &&
    taskset.rewardFn === undefined &&
    taskset.format.rewardFnKey === undefined
  )
    context.report(
      at,
      `got "${name}", which scores answers with a reward function, but none is set. Set default_reward_fn_type, for example math_reward.`,
      [
        [...place, 'default_reward_fn_type'],
        [...shared, 'default_reward_fn_type'],
      ],
    );
  const arg = needs.auxiliaryModel ?? needs.optionalModel;
  if (arg === undefined) return;
  const models: KeyPath = ['explorer', 'auxiliary_models'];
  const names = auxiliaryModels.map((model) => model.name);
  const given = input.workflow_args[arg] ?? undefined;
  const isWithout = given === undefined || given === false;
  if (needs.auxiliaryModel === undefined && isWithout) return;
  const which = given ?? 0;
  const isThere = typeof which === 'string' ? names.includes(which) : Number(which) < names.length;
  if (isThere) return;
  const key = names.length === 0 ? at : [...place, 'workflow_args', arg];
  context.report(
    key,
    names.length === 0
      ? `got "${name}", which asks an auxiliary model, but explorer.auxiliary_models is empty. Add one there.`
      : `got ${showValue(which)}, but explorer.auxiliary_models has ${names.join(', ')}. Name one of them, or give its position from 0.`,
    [at, models],
  );
}

function checkReward(context: StageContext, { place, input, taskset }: Parts): void {
  const { rewardFn: name } = taskset;
  if (name === undefined || context.rewardFns === undefined) return;
  const at = keyOf(context, place, ['default_reward_fn_type']);
  const facts = factsOf(context, at, 'reward function', context.rewardFns, name);
  if (facts === undefined) return;
  try {
    facts.create(input.reward_fn_args);
  } catch (error) {
    const { name: arg } =
      (error as { readonly details?: { readonly name?: unknown } }).details ?? {};
    const key = typeof arg === 'string' ? [arg] : [];
    context.report([...place, 'reward_fn_args', ...key], describeError(error), [at]);
  }
}

/**
 * Returns the first key that the file sets: a key of the task set, otherwise a default of all task
 * sets.
 */
function keyOf(context: StageContext, place: KeyPath, keys: readonly string[]): KeyPath {
  const [own = ''] = keys;
  const candidates = [
    [...place, own],
    ...keys.toReversed().map((key): KeyPath => [...shared, key]),
  ];
  return candidates.find((path) => context.isSet(...path)) ?? [...place, own];
}

/** Returns the facts about a name. Reports an unknown name, and warns of an alias. */
function factsOf<Facts>(
  context: StageContext,
  at: KeyPath,
  what: string,
  table: NameTable<Facts>,
  name: string,
): Facts | undefined {
  const facts = table.find(name);
  if (facts === undefined) context.report(at, unknown(what, name, table));
  const other = table.readAs?.(name);
  if (other !== undefined) context.warn(at, `"${name}" is read as "${other}".`);
  return facts;
}

function unknown(what: string, name: string, table: NameTable<unknown>): string {
  const refusal = table.refusal?.(name);
  if (refusal !== undefined) return `got "${name}", which is not supported. ${refusal}`;
  const known = table.names();
  const similar = didYouMean(name, known);
  const rest = similar === '' ? ` Known: ${known.toSorted().join(', ')}.` : similar;
  return `got "${name}", but there is no such ${what}.${rest} One of your own comes from a plugin (--plugin, --plugin-dir, or plugins in the file).`;
}
