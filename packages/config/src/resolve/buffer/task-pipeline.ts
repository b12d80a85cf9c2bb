/** Resolves the task pipeline, and checks the names, arguments and inputs of the operators. */
import { ConfigError } from '@trinity-rft/core';
import { didYouMean } from '@trinity-rft/core/support';
import { taskPipelineKeys } from '../../schema/runtime.js';
import { resolveSection } from '../../schema/resolve-section.js';
import { fromPlainArgs, yamlName } from '../../schema/args.js';
import { unsupportedTaskOperators } from '../../schema/known-names.js';
import { showValue } from '../../source/secrets.js';
import type { KeyPath } from '../../source/node.js';
import { derivePart } from '../algorithm/parts.js';
import { sayIgnored, type StageContext } from '../base/context.js';
import type { NameTable, TaskOperatorFacts } from '../base/names.js';
import { locate } from '../base/paths.js';
import type { AuxiliaryModelConfig, PartConfig, TaskPipelineConfig } from '../base/resolved.js';

const section: KeyPath = ['data_processor', 'task_pipeline'];

export function deriveTaskPipeline(
  context: StageContext,
  auxiliaryModels: readonly AuxiliaryModelConfig[],
): TaskPipelineConfig | undefined {
  const input = context.input.data_processor.task_pipeline;
  if (input === null) return undefined;
  const operators = input.operators.flatMap(
    ({ name, args }, index) =>
      deriveOperator(context, index, { name, args, auxiliaryModels }) ?? [],
  );
  if (context.mode !== 'both') {
    warnOfNoTasks(context);
    return undefined;
  }
  const inputs = input.inputs.flatMap(
    (path, index) => locate(context, [...section, 'inputs', index], path) ?? [],
  );
  if (inputs.length > 0) checkInputs(context);
  return { ...resolveSection(taskPipelineKeys, input), operators, inputs };
}

/** Warns of a pipeline in a stage that explores nothing. */
function warnOfNoTasks(context: StageContext): void {
  sayIgnored(
    context,
    ['data_processor'],
    ['task_pipeline'],
    `It works on the task sets that a run learns from, and mode ${context.mode} has none.`,
  );
}

function checkInputs(context: StageContext): void {
  const { tasksets } = context.input.buffer.explorer_input;
  const place: KeyPath = ['buffer', 'explorer_input', 'tasksets'];
  if (tasksets.length > 1)
    context.report(
      [...section, 'inputs'],
      `is for a run with one task set, and this one has ${tasksets.length}. Remove it: each task set then goes through the pipeline itself.`,
      [place],
    );
  const [taskset] = tasksets;
  const inputs: readonly string[] = context.input.data_processor.task_pipeline?.inputs ?? [];
  const path = taskset?.path ?? '';
  if (path !== '' && !inputs.includes(path))
    context.warn(
      [...place, 0, 'path'],
      'ignored. The tasks are what data_processor.task_pipeline makes of its inputs.',
    );
}

interface Operator {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly auxiliaryModels: readonly AuxiliaryModelConfig[];
}

function deriveOperator(
  context: StageContext,
  index: number,
  { name, args, auxiliaryModels }: Operator,
): PartConfig | undefined {
  const place = {
    name: [...section, 'operators', index, 'name'],
    args: [...section, 'operators', index, 'args'],
    kind: 'task operator',
  };
  const { taskOperators: table } = context;
  if (table === undefined) return { name, args: fromPlainArgs(args) };
  const facts = table.find(name);
  if (facts === undefined) {
    context.report(place.name, unknown(name, table));
    return undefined;
  }
  const part = derivePart(context, place, { [name]: facts }, { name, preset: undefined });
  if (part === undefined) return undefined;
  checkArgs(context, place.args, { facts, part });
  checkModel(context, place.args, { facts, part, auxiliaryModels });
  return part;
}

interface Chosen {
  readonly facts: TaskOperatorFacts;
  readonly part: PartConfig;
}

function checkArgs(context: StageContext, place: KeyPath, { facts, part }: Chosen): void {
  try {
    facts.create(part.args);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { name } = (error.details ?? {}) as { readonly name?: unknown };
    context.report(typeof name === 'string' ? [...place, yamlName(name)] : place, error.message, [
      place,
    ]);
  }
}

function checkModel(
  context: StageContext,
  place: KeyPath,
  { facts, part, auxiliaryModels }: Chosen & Pick<Operator, 'auxiliaryModels'>,
): void {
  const { auxiliaryModel: arg } = facts;
  if (arg === undefined) return;
  const names = auxiliaryModels.map((model) => model.name);
  const which = part.args[arg];
  if (which === undefined ? names.length > 0 : names.some((name) => name === which)) return;
  const got =
    which === undefined
      ? 'is not set, which means the first one'
      : `got ${showValue(which, place)}`;
  const has = names.length === 0 ? 'is empty' : `has ${names.join(', ')}`;
  context.report(
    [...place, yamlName(arg)],
    `${got}, but explorer.auxiliary_models ${has}. Add a model of this name there, with a model_path and, for a service, its base_url.`,
    [['explorer', 'auxiliary_models'], place],
  );
}

function unknown(name: string, table: NameTable<unknown>): string {
  const known = table.names();
  const instead = unsupportedTaskOperators[name];
  if (instead !== undefined) return `got "${name}", which is not supported. ${instead}`;
  const similar = didYouMean(name, known);
  return `got ${name === '' ? 'nothing' : `"${name}"`}, but there is no such task operator.${similar} Known: ${known.toSorted().join(', ')}. Operators of Data-Juicer that are not among them do not run here: write a function in a plugin (defineTaskOperator), or process the file beforehand.`;
}
