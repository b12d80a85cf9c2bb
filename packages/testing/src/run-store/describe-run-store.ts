import { describe } from 'vitest';
import type { CreateRunStore } from './fixture.js';
import { memberCases } from './member-cases.js';
import { resultCases } from './result-cases.js';
import { taskCases } from './task-cases.js';
import { trainCases } from './train-cases.js';
import { weightCases } from './weight-cases.js';

/**
 * Declares the tests of the run-store contract for a driver. Call it at the top level of a test
 * file, once per driver.
 */
export function describeRunStore(name: string, create: CreateRunStore): void {
  describe(`run store ${name}`, () => {
    for (const declareCases of [memberCases, taskCases, resultCases, trainCases, weightCases])
      declareCases(create);
  });
}
