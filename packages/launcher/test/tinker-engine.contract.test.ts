/** The client of the Tinker protocol against our server of it: the contract of every engine. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createTinkerEngine } from '@trinity-rft/engine-tinker';
import { openTinkerServer, type TinkerServer } from '@trinity-rft/serve-tinker';
import { describeEngine, fakeEngine, testRuntime } from '@trinity-rft/testing';
import { afterAll, beforeAll } from 'vitest';

const vocabSize = 16;
const apiKey = 'tml-contract';
const modelPath = mkdtempSync(path.join(tmpdir(), 'tinker-engine-'));
let server: TinkerServer;

beforeAll(async () => {
  const config = { vocab_size: vocabSize, max_position_embeddings: 65 };
  writeFileSync(path.join(modelPath, 'config.json'), JSON.stringify(config));
  server = await openTinkerServer({
    model: {
      name: 'bigrams',
      maxModelLen: 65,
      open: async () => fakeEngine({ vocabSize, maxModelLen: 65 }),
    },
    directory: path.join(modelPath, 'server'),
    runtime: testRuntime(),
    apiKey,
  });
});
afterAll(async () => {
  await server.close();
  rmSync(modelPath, { recursive: true, force: true });
});

const options = { modelPath, apiKey, rank: 4, reference: true };
describeEngine('engine-tinker', {
  vocabSize,
  learningRate: 0.05,
  scoresAt: 'one',
  open: () => createTinkerEngine({ ...options, baseUrl: server.url }),
});
