import { describe } from 'vitest';
import { durabilityCases } from './durability-cases.js';
import type { CreateExperienceStore } from './fixture.js';
import { leaseCases } from './lease-cases.js';
import { orderCases } from './order-cases.js';
import { waitingCases } from './waiting-cases.js';

interface ExperienceStoreContract {
  /**
   * True if the store's contents survive its process, and the store has one owner at a time.
   * @default false
   */
  readonly durable?: boolean;
}

/**
 * Tests a driver of experience stores. Call it at the top level of a test file, once per driver.
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
