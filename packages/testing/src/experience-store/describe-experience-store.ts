import { describe } from 'vitest';
import { durabilityCases } from './durability-cases.js';
import type { CreateExperienceStore } from './fixture.js';
import { leaseCases } from './lease-cases.js';
import { orderCases } from './order-cases.js';
import { waitingCases } from './waiting-cases.js';

interface ExperienceStoreContract {
  /**
   * True if the contents of the store survive the end of its process, and only one process can own
   * the store at a time. @default false
   */
  readonly durable?: boolean;
}

/**
 * Declares the tests of the experience-store contract for a driver. Call it at the top level of a
 * test file, once per driver.
 */
export function describeExperienceStore(
  name: string,
  create: CreateExperienceStore,
  contract: ExperienceStoreContract = {},
): void {
  const always = [orderCases, waitingCases, leaseCases];
  const suites = contract.durable ? [...always, durabilityCases] : always;
  describe(`experience store ${name}`, () => {
    for (const declareCases of suites) declareCases(create);
  });
}
