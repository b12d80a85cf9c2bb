/** The algorithm of a stage, and whether the engine can do what it asks for. */
import { builtInTables, createAlgorithm, type AlgorithmTables } from '@trinity-rft/algorithm';
import { engineLacks, type StageConfig } from '@trinity-rft/config';
import { ConfigError, type Algorithm, type EngineCapabilities } from '@trinity-rft/core';
import { onnxCapabilities } from '@trinity-rft/engine-onnx';

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
    capabilities = onnxCapabilities,
  }: { readonly algorithms?: AlgorithmTables; readonly capabilities?: EngineCapabilities } = {},
): void {
  for (const stage of stages) {
    if (stage.mode === 'bench') continue;
    const name = stage.algorithm.algorithmType;
    const missing = engineLacks(algorithmOf({ stage, algorithms }).needs, capabilities);
    if (missing.length === 0) continue;
    const reasons = missing.map(({ reason, cure }) => `${name} ${reason}. ${cure}.`);
    throw new ConfigError(`algorithm.algorithm_type: ${reasons.join(' ')}`, {
      code: 'ENGINE_LACKS',
      details: { algorithm: name },
    });
  }
}
