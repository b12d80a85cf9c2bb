import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mean, populationStd } from './metrics.js';
import { createRandom, deriveSeed } from './random.js';

const draws = 40_000;

describe('deriveSeed', () => {
  it('keeps its values: runs of other versions can be repeated', () => {
    expect([
      deriveSeed(0),
      deriveSeed(42),
      deriveSeed(42, 'task', 0),
      deriveSeed(42, 'task', 1),
      deriveSeed(4294967295, 'a', 'b'),
    ]).toEqual([679662122, 987029075, 1872653761, 2379358648, 117376086]);
  });

  it('gives 32-bit unsigned integers that depend on root, parts and their order', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 4294967295 }),
        fc.array(fc.oneof(fc.string(), fc.integer())),
        (root, parts) => {
          const seed = deriveSeed(root, ...parts);
          expect(seed).toBe(seed >>> 0);
          expect(deriveSeed(root, ...parts)).toBe(seed);
        },
      ),
    );
    expect(
      new Set([
        deriveSeed(1, 'a', 'b'),
        deriveSeed(1, 'b', 'a'),
        deriveSeed(1, 'a'),
        deriveSeed(2, 'a', 'b'),
      ]).size,
    ).toBe(4);
  });

  it('gives neighbours different seeds', () => {
    const seeds = Array.from({ length: 100 }, (_, root) =>
      Array.from({ length: 100 }, (_unused, part) => deriveSeed(root, part)),
    ).flat();
    expect(new Set(seeds).size).toBe(seeds.length);
  });
});

describe('createRandom', () => {
  it('keeps its values', () => {
    const random = createRandom(42);
    expect([random.next(), random.next(), random.integer(1000)]).toEqual([
      0.1974256277681482, 0.7900019698423525, 314,
    ]);
    expect(random.normal()).toBeCloseTo(0.01130964797161031, 12);
    expect(random.shuffle([0, 1, 2, 3, 4])).toEqual([4, 3, 1, 2, 0]);
  });

  it('is uniform in [0, 1)', () => {
    const random = createRandom(1);
    const values = Array.from({ length: draws }, () => random.next());
    const buckets = Array.from({ length: 20 }, () => 0);
    for (const value of values) buckets[Math.floor(value * 20)]!++;
    // 5 standard deviations of a count of draws / 20.
    expect(Math.max(...buckets.map((count) => Math.abs(count - draws / 20)))).toBeLessThan(
      5 * Math.sqrt(draws / 20),
    );
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
  });

  it('has no correlation between neighbours, nor between streams of neighbouring seeds', () => {
    const [a, b] = [createRandom(7), createRandom(8)];
    const first = Array.from({ length: draws }, () => a.next() - 0.5);
    const second = Array.from({ length: draws }, () => b.next() - 0.5);
    const limit = 5 / Math.sqrt(draws) / 12;
    expect(Math.abs(mean(first.slice(1).map((value, i) => value * first[i]!)))).toBeLessThan(limit);
    expect(Math.abs(mean(first.map((value, i) => value * second[i]!)))).toBeLessThan(limit);
  });

  it('draws standard normals', () => {
    const random = createRandom(3);
    const values = Array.from({ length: draws }, () => random.normal());
    expect(Math.abs(mean(values))).toBeLessThan(5 / Math.sqrt(draws));
    expect(Math.abs(populationStd(values) - 1)).toBeLessThan(5 / Math.sqrt(2 * draws));
  });

  it('draws every integer below its bound', () => {
    const random = createRandom(5);
    expect(new Set(Array.from({ length: 500 }, () => random.integer(7)))).toEqual(
      new Set([0, 1, 2, 3, 4, 5, 6]),
    );
  });

  it('shuffles a copy into a permutation, every place equally likely', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.nat(), (items, seed) => {
        const before = [...items];
        expect(
          createRandom(seed)
            .shuffle(items)
            .toSorted((x, y) => x - y),
        ).toEqual(before.toSorted((x, y) => x - y));
        expect(items).toEqual(before);
      }),
    );
    const random = createRandom(9);
    const places = Array.from({ length: 6 }, () => 0);
    for (let i = 0; i < 6000; i++) places[random.shuffle([0, 1, 2, 3, 4, 5]).indexOf(0)]!++;
    expect(Math.max(...places.map((count) => Math.abs(count - 1000)))).toBeLessThan(
      5 * Math.sqrt(1000),
    );
  });
});
