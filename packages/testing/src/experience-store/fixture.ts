/**
 * Fixtures for the cases of the store contract: numbered experiences, and stores that are closed
 * when the test ends.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createExperience, type Experience } from '@trinity-rft/core';
import type { ExperienceStore, Lease } from '@trinity-rft/core/store';
import { onTestFinished } from 'vitest';

export interface ExperienceStoreOptions {
  /** Capacity of the store; see `LeaseStoreOptions.capacity` of `@trinity-rft/buffer`. */
  readonly capacity?: number;
}

/**
 * Opens the store in `folder`. If the store is durable, it contains the experiences that were
 * stored there before.
 */
export type CreateExperienceStore = (
  folder: string,
  options: ExperienceStoreOptions,
) => ExperienceStore | Promise<ExperienceStore>;

/** Creates a temporary folder that is removed after the test. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trinity-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens a store that is closed after the test. */
export async function openStore(
  create: CreateExperienceStore,
  options: ExperienceStoreOptions = {},
  folder = testFolder(),
): Promise<ExperienceStore> {
  const store = await create(folder, options);
  onTestFinished(() => store.close());
  return store;
}

/** Creates the experience with number `n`. Each number has its own task and tokens. */
export function numbered(n: number, policyVersion = 0): Experience {
  return createExperience({
    eid: { batch: 1, task: n, run: 0, step: 0, suffix: 'a' },
    tokens: [1, 2, 10 + n],
    promptLength: 1,
    logprobs: [-0.5, -1 / (n + 2)],
    reward: n / 4,
    policyVersion,
    temperature: 1,
    metrics: { accuracy: n % 2 },
    info: { n },
  });
}

/** Creates the experiences with the numbers `from` to `to - 1`. */
export function range(from: number, to: number, policyVersion = 0): Experience[] {
  return Array.from({ length: to - from }, (_, i) => numbered(from + i, policyVersion));
}

/** Returns the numbers of the experiences in a lease, or `undefined` if there is no lease. */
export function numbersOf(lease: Lease | undefined): readonly unknown[] | undefined {
  return lease?.experiences.map((experience) => experience.info['n']);
}

/** Takes experiences that should be available without a wait. Rejects if the store has ended. */
export async function takeNow(
  store: ExperienceStore,
  count: number,
  minPolicyVersion?: number,
): Promise<Lease> {
  const lease = await store.take(count, minPolicyVersion === undefined ? {} : { minPolicyVersion });
  if (!lease) throw new RangeError(`The store has ended; expected ${count} experiences.`);
  return lease;
}

/** Returns true if the promise has not settled after one turn of the event loop. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  const turn = new Promise((resolve) => setImmediate(() => resolve(pending)));
  return (
    (await Promise.race([
      promise.then(
        () => undefined,
        () => undefined,
      ),
      turn,
    ])) === pending
  );
}
