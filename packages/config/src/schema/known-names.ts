/**
 * Names of algorithms and their parts: those of the tables, and those that Trinity-RFT has besides.
 */
import type { AlgorithmTables } from '@trinity-rft/algorithm';

/** A key of the file whose value is a row of a table. */
export interface NamedKey {
  /** From the top of a stage. */
  readonly path: string;
  readonly table: keyof AlgorithmTables;
  /** Names of the original, with the reason why they may be missing in the table. */
  readonly known: Readonly<Record<string, string>>;
}

const crossEpisode =
  'It compares runs across tasks that are packed together, which workflows cannot express.';

/**
 * Names of Trinity-RFT (Apache-2.0), trinity/algorithm and trinity/buffer/operators, up to its
 * versions of 2026.
 */
export const namedKeys: readonly NamedKey[] = [
  {
    path: 'algorithm.algorithm_type',
    table: 'presets',
    known: { cod: crossEpisode, cpt: 'Use sft with prompts that are empty.' },
  },
  {
    path: 'algorithm.advantage_fn',
    table: 'advantageFns',
    known: { cod: crossEpisode },
  },
  { path: 'algorithm.policy_loss_fn', table: 'policyLossFns', known: {} },
  { path: 'algorithm.kl_loss_fn', table: 'klFns', known: {} },
  { path: 'algorithm.kl_penalty_fn', table: 'klFns', known: {} },
  { path: 'algorithm.entropy_loss_fn', table: 'entropyLossFns', known: {} },
  { path: 'algorithm.sample_strategy', table: 'sampleStrategies', known: {} },
  {
    path: 'data_processor.experience_pipeline.operators.*.name',
    table: 'operators',
    known: {
      data_juicer: 'There is no Data-Juicer service; write an operator in a plugin.',
      pass_rate_calculator: 'No data selector goes by difficulty; remove it.',
    },
  },
];

/** Names that are known and not in the table. */
export const missingNames = (
  { table, known }: NamedKey,
  tables: AlgorithmTables,
): readonly string[] => Object.keys(known).filter((name) => !Object.hasOwn(tables[table], name));
