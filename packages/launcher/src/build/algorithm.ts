/** The algorithm of a stage, from the names and arguments of its configuration. */
import { createAlgorithm } from '@trinity-rft/algorithm';
import type { Algorithm } from '@trinity-rft/core';
import type { AlgorithmConfig } from '@trinity-rft/config';

export function createStageAlgorithm(config: AlgorithmConfig): Algorithm {
  const { advantageFn, policyLossFn, klLossFn, entropyLossFn, lossAggMode } = config;
  return createAlgorithm({
    ...(advantageFn && { advantageFn: advantageFn.name, advantageFnArgs: advantageFn.args }),
    policyLossFn: policyLossFn.name,
    policyLossFnArgs: policyLossFn.args,
    klLossFn: klLossFn.name,
    klLossFnArgs: klLossFn.args,
    entropyLossFn: entropyLossFn.name,
    entropyLossFnArgs: entropyLossFn.args,
    lossAggMode,
  });
}
