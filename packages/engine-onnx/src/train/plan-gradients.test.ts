import { describe, expect, test } from 'vitest';
import { planAdapters, adapterSpecs, adapterTargets } from '../lora/plan.js';
import { parameterSpecs } from '../model/parameters.js';
import { completeConfig } from '../storage/new-model.js';
import { backwardCost, layerwiseCost, type TrainingMemory } from './memory.js';
import { planGradients } from './plan-gradients.js';

const [mebibyte, gibibyte] = [2 ** 20, 2 ** 30];

/** The shape of SmolLM2-135M. */
const config = completeConfig({
  family: 'llama',
  vocabSize: 49_152,
  hiddenSize: 576,
  layers: 30,
  heads: 9,
  kvHeads: 3,
  headDim: 64,
  intermediateSize: 1536,
  maxPositions: 1024,
});
const all = parameterSpecs(config);
const ofAdapters = adapterSpecs(
  adapterTargets(config, planAdapters(config, { rank: 16, alpha: 16 })),
);

const rows = Array.from({ length: 8 }, (_, index) => ({
  index,
  tokens: new Int32Array(257),
  promptLength: 1,
  count: 256,
  offset: index * 256,
  inverseTemperature: 1,
}));

function planned(memory: TrainingMemory, { adapters = false, canSplit = true } = {}) {
  const specs = adapters ? ofAdapters : all;
  const options = { config, specs, adapters, memory, canSplit };
  const { plan, byLayer } = planGradients(rows, options);
  return { byLayer, rows: plan.map((micro) => micro.groups.length) };
}

const budget = 384 * mebibyte;

describe('gradients of 135 million weights, 8 rows of 256 positions', () => {
  test('come from one graph where memory allows, in micro-batches that are worth the gradients they return', () => {
    expect(planned({ budget, wholeModel: 3 * gibibyte })).toEqual({ byLayer: false, rows: [4, 4] });
  });

  test('come layer by layer where it does not, or where a budget is set', () => {
    const byLayer = { byLayer: true, rows: [8] };
    expect(planned({ budget, wholeModel: gibibyte })).toEqual(byLayer);
    expect(planned({ budget })).toEqual(byLayer);
  });

  test('come from one graph if the budget that is set has room for it', () => {
    expect(planned({ budget: 1536 * mebibyte })).toEqual({ byLayer: false, rows: [4, 4] });
  });

  test('need little memory if they are those of adapters', () => {
    expect(planned({ budget, wholeModel: gibibyte }, { adapters: true })).toEqual({
      byLayer: false,
      rows: [1, 1, 1, 1, 1, 1, 1, 1],
    });
  });

  test('never come layer by layer where the head cannot', () => {
    expect(planned({ budget }, { canSplit: false }).byLayer).toBe(false);
  });
});

describe('memory of gradients', () => {
  const time = 512;
  const mixers = (mixer: 'conv' | 'delta', every: number) => ({
    ...config,
    layerTraits: Array.from({ length: config.layers }, (_, layer) =>
      (layer + 1) % every === 0 ? {} : { mixer },
    ),
    ...(mixer === 'delta' && {
      delta: { keyHeads: 9, keyDim: 64, valueHeads: 9, valueDim: 64 },
    }),
  });

  test('counts each layer by its kind', () => {
    const whole = backwardCost(config)(1, time, 0);
    const { hiddenSize, heads, kvHeads, headDim } = config;
    const attention = heads * time + 2 * (heads + kvHeads) * headDim;
    const saved = 4 * time * 20 * (attention - 6 * hiddenSize);
    expect(whole - backwardCost(mixers('conv', 3))(1, time, 0)).toBe(saved);
    // Layers of these heads keep more than attention does.
    const [some, nearlyAll] = [3, 30].map((every) =>
      backwardCost(mixers('delta', every))(1, time, 0),
    );
    expect(some).toBeGreaterThan(whole);
    expect(some).toBeLessThan(nearlyAll!);
  });

  test('layer by layer is that of the layer that keeps most', () => {
    expect(layerwiseCost(mixers('conv', 3))(1, time, 0)).toBe(layerwiseCost(config)(1, time, 0));
  });
});

describe('rows that share a prompt', () => {
  /** The shape of Qwen3-0.6B. */
  const larger = completeConfig({
    family: 'qwen3',
    vocabSize: 151_936,
    hiddenSize: 1024,
    layers: 28,
    heads: 16,
    kvHeads: 8,
    headDim: 128,
    intermediateSize: 3072,
    maxPositions: 40_960,
  });
  const shared = Array.from({ length: 16 }, (_, index) => ({
    index,
    tokens: Int32Array.from({ length: 500 }, (__, t) => (t < 400 ? t : index)),
    promptLength: 400,
    count: 100,
    offset: index * 100,
    inverseTemperature: 1,
  }));
  const cost = layerwiseCost(larger);
  const plannedIn = (mebibytes: number) => {
    const memory = { budget: mebibytes * mebibyte };
    const specs = parameterSpecs(larger);
    const options = { config: larger, specs, adapters: false, memory, canSplit: true };
    const { plan, byLayer } = planGradients(shared, { ...options, canShare: true });
    const most = Math.max(...plan.map((each) => cost(each.groups.length, each.time, each.picked)));
    return {
      byLayer,
      sizes: plan.map((each) => each.groups.map((group) => group.rows.length)),
      most,
    };
  };

  test('are grouped within the budget', () => {
    const { byLayer, sizes, most } = plannedIn(384);
    expect([byLayer, sizes.flat()]).toEqual([true, [4, 4, 4, 4]]);
    expect(most).toBeLessThanOrEqual(384 * mebibyte);
    expect(plannedIn(2048).sizes).toEqual([[16]]);
  });

  test('are computed alone where no group fits', () => {
    const single = cost(1, 499, 100);
    expect(plannedIn(16).sizes.flat()).toEqual(Array.from({ length: 16 }, () => 1));
    expect(plannedIn(16).most).toBe(single);
  });
});
