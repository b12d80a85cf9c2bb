import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { capacityFor, planCapacities } from './capacity.js';

const positions = fc.integer({ min: 1, max: 100_000 });

describe('capacityFor', () => {
  it('holds the positions, in multiples of 16, and wastes at most a fifth beyond the first few', () => {
    fc.assert(
      fc.property(positions, (n) => {
        const capacity = capacityFor(n);
        expect(capacity % 16).toBe(0);
        expect(capacity).toBeGreaterThanOrEqual(n);
        expect(capacity).toBeLessThanOrEqual(Math.max(n + 15, n * 1.25));
      }),
    );
  });

  it('grows in steps', () => {
    expect([1, 16, 17, 100, 128, 129, 300, 1000].map(capacityFor)).toEqual([
      16, 16, 32, 112, 128, 160, 320, 1024,
    ]);
  });
});

describe('planCapacities', () => {
  it('gives every sequence enough, and no more padding than there is memory to spare', () => {
    fc.assert(
      fc.property(
        fc.array(positions, { minLength: 1, maxLength: 40 }),
        fc.nat(10_000_000),
        fc.nat(10_000_000),
        (needs, runBytes, spareBytes) => {
          const positionBytes = 512;
          const costs = { runBytes, positionBytes, spareBytes };
          const padding = planCapacities(needs, costs).map((capacity, i) => {
            expect(capacity).toBeGreaterThanOrEqual(needs[i]!);
            return (capacity - capacityFor(needs[i]!)) * positionBytes;
          });
          expect(padding.reduce((sum, bytes) => sum + bytes)).toBeLessThanOrEqual(spareBytes);
        },
      ),
    );
  });

  it('runs everything together when a run is dear, and every class apart when it costs nothing', () => {
    const needs = [10, 20, 60, 500];
    const costs = { positionBytes: 512, spareBytes: Infinity };
    expect(planCapacities(needs, { runBytes: 1e12, ...costs })).toEqual([512, 512, 512, 512]);
    expect(planCapacities(needs, { runBytes: 0, ...costs })).toEqual([16, 32, 64, 512]);
  });

  it('lets a few short sequences join the long ones, but not many', () => {
    const costs = { runBytes: 100_000, positionBytes: 1000, spareBytes: Infinity };
    expect(planCapacities([60, 128], costs)).toEqual([128, 128]);
    expect(planCapacities([60, 60, 128], costs)).toEqual([64, 64, 128]);
  });
});
