import { describe, expect, it } from 'vitest';

import { completeConfig } from '../storage/new-model.js';
import { rowWindow } from './row-window.js';

const model = (
  hiddenSize: number,
  intermediateSize: number,
  vocabSize: number,
  heads: number,
  kvHeads: number,
  headDim = 32,
) =>
  completeConfig({ hiddenSize, intermediateSize, vocabSize, heads, kvHeads, headDim, layers: 1 });

// Measured: the row counts at which onnxruntime-node 1.30 on x86-64 changes a bit of some row.
describe('rowWindow', () => {
  it('leaves out single rows, which take another kernel', () => {
    expect(rowWindow(model(64, 192, 16, 4, 4), 1)).toEqual({ min: 2, max: 512 });
  });

  it('ends where the threads begin to share rows instead of columns', () => {
    expect(rowWindow(model(128, 384, 128, 4, 2), 2)).toEqual({ min: 2, max: 127 });
    expect(rowWindow(model(320, 896, 2048, 5, 5, 64), 8)).toEqual({ min: 5, max: 319 });
  });

  it('begins where every thread has work', () => {
    expect(rowWindow(model(96, 288, 48, 3, 1), 2)).toEqual({ min: 3, max: 95 });
    expect(rowWindow(model(160, 512, 300, 2, 1, 128), 2)).toEqual({ min: 4, max: 127 });
  });
});
