import { describe } from 'vitest';
import { engineFixture, type EngineContract } from './fixture.js';
import { forwardCases } from './forward-cases.js';
import { learningCases } from './learning-cases.js';
import { samplingCases } from './sampling-cases.js';
import { scoreCases } from './score-cases.js';
import { weightsCases } from './weights-cases.js';

/**
 * Declares the tests of the engine contract for an engine. Must be called at the top level of a
 * test file: `describeEngine('onnx', { open, vocabSize: 64 })`.
 */
export function describeEngine(name: string, contract: EngineContract): void {
  const fixture = engineFixture(contract);
  describe(`${name} meets the engine contract`, () => {
    forwardCases(fixture);
    learningCases(fixture);
    samplingCases(fixture);
    scoreCases(fixture);
    weightsCases(fixture);
  });
}
