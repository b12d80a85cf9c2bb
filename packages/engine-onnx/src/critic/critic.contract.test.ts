import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describeValueEngine } from '@trinity-rft/testing';
import { afterAll, beforeAll } from 'vitest';

import { createCriticInThread } from '../../test/support/engine.js';
import { livelyWeights } from '../../test/support/models.js';
import { saveModelFolder } from '../storage/model-folder.js';
import { completeConfig, toConfigJson } from '../storage/new-model.js';
import { criticConfigText } from './critic-folder.js';

const root = mkdtempSync(join(tmpdir(), 'critic-onnx-'));
beforeAll(async () => {
  const model = completeConfig({
    vocabSize: 32,
    hiddenSize: 32,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    maxPositions: 128,
  });
  const config = { ...model, head: 'value' } as const;
  const configText = criticConfigText(JSON.stringify(toConfigJson(model)), model.family);
  await saveModelFolder(
    root,
    { config, configText, companions: new Map() },
    livelyWeights(config, 3, 0.15),
  );
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describeValueEngine('engine-onnx', {
  open: () => createCriticInThread({ modelPath: root, threads: 1 }),
  vocabSize: 32,
});
