/** The contract suite that every experience store driver passes. */
import { describe } from 'vitest';
import { durabilityCases } from './durability-cases.js';
import type { CreateExperienceStore } from './fixture.js';
import { leaseCases } from './lease-cases.js';
import { orderCases } from './order-cases.js';
import { waitingCases } from './waiting-cases.js';

export interface ExperienceStoreContract {
  /** The store outlives its process, and one process owns it at a time. @default false */
  readonly durable?: boolean;
}

/**
 * Declares the contract's tests, tagged `contract`. Call it at the top of a test file, once per
 * driver.
 */
export function describeExperienceStore(
  name: string,
  create: CreateExperienceStore,
  contract: ExperienceStoreContract = {},
): void {
  const always = [orderCases, waitingCases, leaseCases];
  const suites = contract.durable ? [...always, durabilityCases] : always;
  describe(`experience store ${name}`, { tags: ['contract'] }, () => {
    for (const declareCases of suites) declareCases(create);
  });
}
