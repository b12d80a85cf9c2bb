/** Resolves task sets whose rows the workflow generates (`storage_type: generated`). */
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { DatasetConfig } from '../base/resolved.js';

type TasksetInput = RunInput['buffer']['explorer_input']['tasksets'][number];

const splits = ['train', 'eval'];

/** Resolves a generated task set. Reports missing keys, and warns of keys that have no effect. */
export function deriveGenerated(
  context: StageContext,
  place: KeyPath,
  input: TasksetInput,
  { isEval, workflow }: { readonly isEval: boolean; readonly workflow: string | undefined },
): Pick<DatasetConfig, 'path' | 'isLocal' | 'split'> {
  for (const key of ['path', 'table', 'query', 'subset_name'])
    if (context.isSet(...place, key))
      context.warn([...place, key], 'ignored. Generated tasks are read from nowhere.');
  if (input.task_count === null)
    context.report([...place, 'task_count'], 'is missing. Say how many tasks to generate.', [
      [...place, 'storage_type'],
    ]);
  if (!isEval && context.input.data_processor.task_pipeline)
    context.report(
      [...place, 'storage_type'],
      'got "generated", but data_processor.task_pipeline reads its tasks from a file or a database. Remove one of the two.',
      [['data_processor', 'task_pipeline']],
    );
  const split = context.isSet(...place, 'split') ? input.split : isEval ? 'eval' : 'train';
  if (!splits.includes(split))
    context.report([...place, 'split'], `got "${split}", expected train or eval.`);
  checkWorkflow(context, place, input, workflow);
  return { path: '', isLocal: false, split };
}

function checkWorkflow(
  context: StageContext,
  place: KeyPath,
  { workflow_args: args, task_count: count, task_seed: seed }: TasksetInput,
  workflow: string | undefined,
): void {
  const facts = workflow === undefined ? undefined : context.workflows?.find(workflow);
  if (facts === undefined || (facts.checkArgs?.(args) ?? []).length > 0) return;
  const one = { split: 'train', count: Math.min(1, count ?? 1), seed } as const;
  if (facts.tasks?.(args, one) !== undefined) return;
  context.report(
    [...place, 'storage_type'],
    `got "generated", but ${workflow} generates no tasks with these workflow_args. Use an environment that does, or give a file with storage_type: file and path.`,
  );
}
