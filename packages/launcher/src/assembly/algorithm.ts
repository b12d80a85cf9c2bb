/** The algorithm of a stage. */
import { createAlgorithm } from '@trinity-rft/algorithm';
import type { Algorithm } from '@trinity-rft/core/internal';
import type { StageContext } from '../context/stage-context.js';

/**
 * Built from the tables; opens nothing.
 * @throws ConfigError for parts that do not go together
 */
export function algorithmOf({
  stage: { algorithm, trainer, seed },
  algorithms,
}: Pick<StageContext, 'stage' | 'algorithms'>): Algorithm {
  const { cliprangeValue } = trainer.critic;
  return createAlgorithm(
    { ...algorithm, valueLoss: { cliprangeValue } },
    { seed, tables: algorithms },
  );
}
