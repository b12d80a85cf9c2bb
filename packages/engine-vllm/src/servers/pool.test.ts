import { silentLogger } from '@trinity-rft/core';
import { manualClock } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { ServerFault } from '../wire/fault.js';
import type { SamplingServer } from './calls.js';
import { createPool } from './pool.js';
import { createReplica } from './replica.js';
import type { Weights, WeightsOnServer } from './weights.js';

const weightsOf = (version: number): Weights => ({
  version,
  label: `v${version}`,
  folder: 'folder',
  probe: undefined,
});

it('a call ends at its deadline and on abort while a delivery delays the check of its server', async () => {
  const clock = manualClock();
  const server = {
    url: 'http://127.0.0.1:1',
    dialect: { name: 'vLLM' },
    health: () => Promise.resolve(),
    score: () => Promise.resolve({ logprobs: Float32Array.of(-1), labels: [] }),
  } as unknown as SamplingServer;
  const slow = Promise.withResolvers<void>();
  const started = weightsOf(0);
  const weights: WeightsOnServer = {
    current: started,
    begin: () => ({ model: 'm', weights: started, end: () => undefined }),
    deliver: ({ version }) => (version === 2 ? slow.promise : Promise.resolve()),
  };
  const common = { clock, logger: silentLogger };
  const replica = createReplica({ server, weights, hasTokenizer: true, ...common });
  const text = Int32Array.of(1, 2);
  const pool = createPool({
    ...{ replicas: [replica], started, text, tolerance: 1, timeoutMs: 1000 },
    ...common,
  });
  await pool.deliver(weightsOf(1));
  const delivered = pool.deliver(weightsOf(2));
  const restarted = () => Promise.reject(new ServerFault('closed', 'reset'));
  const stop = new AbortController();
  const aborted = pool.run(text, restarted, stop.signal).catch((error: unknown) => error);
  const late = pool.run(text, restarted).catch((error: unknown) => error);
  stop.abort();
  expect(await aborted).toMatchObject({ code: 'SAMPLE_ABORTED' });
  await clock.advance(1001);
  expect(await late).toMatchObject({ code: 'SAMPLER_TIMEOUT' });
  slow.resolve();
  await delivered;
  await pool.close();
});
