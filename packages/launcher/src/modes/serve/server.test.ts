import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ModelError } from '@trinity-rft/core';
import { testRuntime } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import type { ServeAddress, StageContext } from '../../context/stage-context.js';
import { serveUntilInterrupted, type ServerParts } from './server.js';

it('asks no model for a POST to a path that is not served, and refuses commits where it must', async () => {
  const jobDirectory = await mkdtemp(path.join(tmpdir(), 'trinity-serving-'));
  const stop = new AbortController();
  const opened = Promise.withResolvers<ServeAddress>();
  const context = {
    stage: {
      ...{ project: 'shop', name: 'run', jobDirectory, model: { modelPath: 'tiny' } },
      explorer: {
        rolloutModel: {},
        serve: { host: '127.0.0.1', port: 0, corsOrigins: [] },
      },
    },
    runtime: testRuntime(),
    signal: stop.signal,
    serve: { onOpen: opened.resolve, drainMs: 0 },
  };
  const never = new AbortController().signal;
  const made: string[] = [];
  const parts = {
    turns: { unfinishedBatch: async () => ({ step: 1, calls: [] }), failed: never },
    engine: { sampler: { policyVersion: 0 }, failed: never },
    models: (session: string) => {
      made.push(session);
      return { handler: async () => Response.json({}), keptTokens: () => 0 };
    },
    updateWeights: async () => ({ step: 0 }),
    refusal: new ModelError('There is no teacher.', { status: 409 }),
    commit: () => Promise.reject(new Error('not asked')),
  };
  const serving = serveUntilInterrupted(
    context as unknown as StageContext,
    parts as unknown as ServerParts,
  );
  const { url, apiKey } = await opened.promise;
  const post = (route: string): Promise<Response> =>
    fetch(`${url}/v1/${route}`, {
      method: 'POST',
      body: '{"messages": [], "user": "me"}',
      headers: { authorization: `Bearer ${apiKey}` },
    });
  const statuses = [(await post('models')).status, (await post('none')).status];
  expect([...statuses, made]).toEqual([405, 404, []]);
  expect([(await post('chat/completions')).status, made]).toEqual([200, ['user:me']]);
  const commit = await fetch(`${url}/commit`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
  });
  expect([commit.status, await commit.text()]).toEqual([
    409,
    expect.stringContaining('There is no teacher.'),
  ]);
  stop.abort();
  await serving;
  await rm(jobDirectory, { recursive: true });
});

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
