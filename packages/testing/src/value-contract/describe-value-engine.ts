import { describe } from 'vitest';
import { valueFixture, type ValueEngineContract } from './fixture.js';
import { valueCases } from './value-cases.js';
import { valueLearningCases } from './value-learning-cases.js';
import { valueWeightsCases } from './value-weights-cases.js';

/**
 * Declares the tests of the critic contract for an engine. Must be called at the top level of a
 * test file: `describeValueEngine('onnx', { open, vocabSize: 64 })`.
 */
export function describeValueEngine(name: string, contract: ValueEngineContract): void {
  const fixture = valueFixture(contract);
  describe(`${name} meets the contract of a critic`, () => {
    valueCases(fixture);
    valueLearningCases(fixture);
    valueWeightsCases(fixture);
  });
}
