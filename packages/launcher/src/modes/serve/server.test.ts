import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testRuntime } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import type { StageContext } from '../../context/stage-context.js';
import { serveUntilInterrupted, type ServerParts } from './server.js';

it('ends with the error of an update that fails before the model is described', async () => {
  const jobDirectory = await mkdtemp(path.join(tmpdir(), 'trinity-serving-'));
  const never = new AbortController().signal;
  const context = {
    stage: {
      project: 'shop',
      name: 'run',
      jobDirectory,
      explorer: { rolloutModel: {}, serve: { host: '127.0.0.1', port: 0, corsOrigins: [] } },
    },
    runtime: testRuntime(),
    signal: never,
  };
  const parts = {
    turns: { unfinishedBatch: async () => undefined, failed: never },
    engine: { sampler: { policyVersion: 8 }, failed: never },
    updateWeights: () => Promise.reject(new Error('training failed')),
  };
  const served = serveUntilInterrupted(
    context as unknown as StageContext,
    parts as unknown as ServerParts,
  );
  await expect(served).rejects.toThrow('training failed');
  await rm(jobDirectory, { recursive: true });
});
