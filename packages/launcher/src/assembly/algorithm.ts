import { createAlgorithm, type AlgorithmTables } from '@trinity-rft/algorithm';
import type { StageConfig } from '@trinity-rft/config';
import type { Algorithm } from '@trinity-rft/core/internal';

/**
 * Creates the algorithm of a stage from its parts in the tables, without opening files or engines.
 * @throws ConfigError for parts that cannot be combined
 */
export function algorithmOf(
  { algorithm, trainer, seed }: StageConfig,
  tables: AlgorithmTables,
): Algorithm {
  const { cliprangeValue } = trainer.critic;
  return createAlgorithm({ ...algorithm, valueLoss: { cliprangeValue } }, { seed, tables });
}
