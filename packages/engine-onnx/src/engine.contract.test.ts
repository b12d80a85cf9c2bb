import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describeEngine } from '@trinity-rft/testing';
import { afterAll, beforeAll } from 'vitest';

import { createEngineInThread } from '../test/support/engine.js';
import { createModelFolder } from './storage/new-model.js';

const root = mkdtempSync(join(tmpdir(), 'engine-onnx-'));
const modelPath = join(root, 'model');
beforeAll(() =>
  createModelFolder({
    directory: modelPath,
    seed: 3,
    initializerRange: 0.15,
    config: { vocabSize: 32, hiddenSize: 32, layers: 2, heads: 4, kvHeads: 2, maxPositions: 128 },
  }),
);
afterAll(() => rmSync(root, { recursive: true, force: true }));

describeEngine('engine-onnx', {
  open: () => createEngineInThread({ modelPath, threads: 1, reference: true, maxModelLen: 64 }),
  vocabSize: 32,
});
