/** The algorithm of a stage, and whether the engine can do what it asks for. */
import { builtInTables, createAlgorithm, type AlgorithmTables } from '@trinity-rft/algorithm';
import { unmetNeeds, type StageConfig } from '@trinity-rft/config';
import { ConfigError, type Algorithm } from '@trinity-rft/core';
import { engineOf, engineTable, type EngineTable } from './models/engines.js';

/**
 * Made from the tables; nothing is opened.
 * @throws ConfigError for parts that do not go together
 */
export function algorithmOf({
  stage: { algorithm, trainer, seed },
  algorithms,
}: {
  readonly stage: Pick<StageConfig, 'algorithm' | 'trainer' | 'seed'>;
  readonly algorithms: AlgorithmTables;
}): Algorithm {
  const { cliprangeValue } = trainer.critic;
  return createAlgorithm(
    { ...algorithm, valueLoss: { cliprangeValue } },
    { seed, tables: algorithms },
  );
}

/**
 * Finds what cannot work before anything is opened.
 * @throws ConfigError with everything that the algorithms need and the engine lacks
 */
export function assertTrainable(
  stages: readonly StageConfig[],
  {
    algorithms = builtInTables,
    engines = engineTable(),
  }: { readonly algorithms?: AlgorithmTables; readonly engines?: EngineTable } = {},
): void {
  for (const stage of stages) {
    if (stage.mode === 'bench') continue;
    const name = stage.algorithm.algorithmType;
    const missing = unmetNeeds(algorithmOf({ stage, algorithms }).needs, engineOf(stage, engines));
    if (missing.length === 0) continue;
    const reasons = missing.map(({ reason, fix }) => `${name} ${reason}. ${fix}.`);
    throw new ConfigError(`algorithm.algorithm_type: ${reasons.join(' ')}`, {
      code: 'ENGINE_LACKS',
      details: { algorithm: name },
    });
  }
}
