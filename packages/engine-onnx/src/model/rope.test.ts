import { expect, test } from 'vitest';
import { tinyModels } from '../../test/support/models.js';
import { RopeFeeds, ropeFrequencies, ropeTables } from './rope.js';
import { cpu } from '../../test/support/runtime.js';

const config = { ...tinyModels.qwen3, headDim: 8 };

test('frequencies fall from 1 by powers of theta', () => {
  expect([...ropeFrequencies(config)].map((x) => Number(x.toPrecision(12)))).toEqual([
    1, 0.1, 0.01, 0.001,
  ]);
});

test('a head that is rotated in part has the frequencies of one of that width', () => {
  const partial = { ...config, headDim: 32, rotaryDim: 8 };
  expect(ropeFrequencies(partial)).toEqual(ropeFrequencies(config));
  expect(new RopeFeeds(cpu(), partial).feeds(10)['rope_cos']?.shape).toEqual([64, 4]);
});

test('linear scaling divides every frequency', () => {
  expect(ropeFrequencies({ ...config, ropeScaling: { kind: 'linear', factor: 4 } })).toEqual(
    ropeFrequencies(config).map((x) => x / 4),
  );
});

test('llama3 scaling keeps fast rotations, divides slow ones and lies between for the rest', () => {
  const plain = ropeFrequencies(config);
  const ropeScaling = {
    kind: 'llama3',
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalMaxPositions: 128,
  } as const;
  const scaled = ropeFrequencies({ ...config, ropeScaling });
  expect(scaled[0]).toBe(plain[0]);
  expect(scaled[1]).toBeGreaterThan(plain[1]! / 8);
  expect(scaled[1]).toBeLessThan(plain[1]!);
  expect([scaled[2], scaled[3]]).toEqual([plain[2]! / 8, plain[3]! / 8]);
});

test('tables hold the angle of every position, and longer ones begin with shorter ones', () => {
  const tables = ropeTables(config, 50);
  expect(tables.cos[49 * 4 + 2]).toBe(Math.fround(Math.cos(49 * ropeFrequencies(config)[2]!)));
  expect(tables.sin[49 * 4 + 2]).toBe(Math.fround(Math.sin(49 * ropeFrequencies(config)[2]!)));
  expect(ropeTables(config, 100).cos.subarray(0, 200)).toEqual(tables.cos);
});

test('feeds grow only when a longer sequence comes', () => {
  const feeds = new RopeFeeds(cpu(), config);
  const first = feeds.feeds(10);
  expect(feeds.feeds(64)).toBe(first);
  expect(feeds.feeds(65)['rope_cos']!.shape).toEqual([128, 4]);
  expect(feeds.feeds(3)['rope_cos']!.shape).toEqual([128, 4]);
});
