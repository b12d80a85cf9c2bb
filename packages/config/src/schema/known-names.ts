/** Names of algorithms and their parts: names in the tables, and other names of Trinity-RFT. */
import type { AlgorithmTables } from '@trinity-rft/algorithm';
import { notSupported } from './fields.js';

const crossEpisode =
  'It compares runs across tasks that are packed together, which workflows cannot express. Use grpo or multi_step_grpo.';

/**
 * Advice for names of Trinity-RFT (trinity/algorithm and trinity/buffer/operators, Apache-2.0, up
 * to 2026) that are not built in. A plugin may define these names.
 */
const unsupported: Partial<Record<keyof AlgorithmTables, Readonly<Record<string, string>>>> = {
  presets: { cod: crossEpisode },
  advantageFns: { cod: crossEpisode },
  operators: {
    data_juicer:
      'There is no Data-Juicer service. Use an operator of your own (defineOperator in a plugin); to grade answers with a model, the workflow rubric_judge_workflow.',
  },
};

/** Returns the names of Trinity-RFT that are not in the table. */
export const missingNames = (
  tables: AlgorithmTables,
  table: keyof AlgorithmTables,
): readonly string[] =>
  Object.keys(unsupported[table] ?? {}).filter((name) => !Object.hasOwn(tables[table], name));

/** Returns every name that the schema accepts. */
export const namesOf = (
  tables: AlgorithmTables,
  table: keyof AlgorithmTables,
): [string, ...string[]] =>
  [...Object.keys(tables[table]), ...missingNames(tables, table)] as [string, ...string[]];

/**
 * Creates the effects that mark the {@link missingNames} as not supported, for a key whose values
 * are names of a table.
 */
export const unsupportedNames = (tables: AlgorithmTables, table: keyof AlgorithmTables) =>
  missingNames(tables, table).map((name) =>
    notSupported(unsupported[table]?.[name] ?? '', { values: [name] }),
  );

const nearDuplicates =
  'Use document_deduplicator, which finds equal texts, or an operator of your own (defineTaskOperator).';

/** Advice for operators of Data-Juicer that files for Trinity-RFT name. */
export const unsupportedTaskOperators: Readonly<Record<string, string>> = {
  human_preference_annotation_mapper:
    'People choose between answers in files: write them with the command pairs, and train on what it makes of their choices.',
  document_minhash_deduplicator: nearDuplicates,
  document_simhash_deduplicator: nearDuplicates,
  llm_task_relevance_filter:
    'Use llm_quality_score_filter with a system_prompt that asks how relevant a task is.',
  topk_specified_field_selector: 'Use order_by, and top_k of the pipeline.',
};
