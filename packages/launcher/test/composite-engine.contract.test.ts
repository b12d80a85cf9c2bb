/** An engine that trains here and samples on vLLM servers: the contract of every engine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger, systemClock } from '@trinity-rft/core';
import type { Engine, SamplerFactory } from '@trinity-rft/core/engine';
import { sglangSampler, vllmSampler } from '@trinity-rft/engine-vllm';
import { describeEngine, fakeEngine, openFakeEngine } from '@trinity-rft/testing';
import { vllmStandIn } from '@trinity-rft/test-support';
import { afterAll, beforeAll } from 'vitest';
import { compositeEngine } from '../src/assembly/models/composite-engine.js';

const vocabSize = 16;
const root = mkdtempSync(path.join(tmpdir(), 'composite-'));
const modelPath = path.join(root, 'model');
beforeAll(() => fakeEngine({ vocabSize }).trainer.save(modelPath, { optimizer: false }));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let opened = 0;

/** Opens an engine whose sampler has two servers. */
async function openComposite({
  factory = vllmSampler,
  ...options
}: {
  readonly factory?: SamplerFactory;
  readonly lora: boolean;
  readonly inFlight: 'finish' | 'continue';
}): Promise<Engine> {
  const open = (folder: string | undefined): Promise<Engine> =>
    openFakeEngine(folder, { vocabSize });
  const servers = await Promise.all(
    [1, 2].map(() => vllmStandIn({ open, vocabSize, maxModelLen: 72 })),
  );
  const sampler = await factory.open({
    ...options,
    modelPath,
    servers,
    maxModelLen: 64,
    tolerance: 1e-5,
    timeoutMs: 60_000,
    clock: systemClock,
    logger: silentLogger,
  });
  const engine = await compositeEngine({
    engine: fakeEngine({ vocabSize, maxModelLen: 64 }),
    sampler,
    adapters: options.lora,
    folder: path.join(root, `weights-${++opened}`),
    probe: Int32Array.from({ length: 12 }, (_, i) => (i * 7) % vocabSize),
  });
  return {
    ...engine,
    close: async () => {
      await engine.close();
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

const contract = { vocabSize, learningRate: 0.05, scoresAt: 'one' } as const;

describeEngine('vLLM with adapters', {
  ...contract,
  open: () => openComposite({ lora: true, inFlight: 'finish' }),
});

describeEngine('vLLM with whole weights', {
  ...contract,
  open: () => openComposite({ lora: false, inFlight: 'finish' }),
});

describeEngine('vLLM with weights that change in flight', {
  ...contract,
  inFlight: 'replaced',
  open: () => openComposite({ lora: false, inFlight: 'continue' }),
});

describeEngine('SGLang with adapters', {
  ...contract,
  open: () => openComposite({ factory: sglangSampler, lora: true, inFlight: 'finish' }),
});

// SGLang does not say which token is of which weights.
describeEngine('SGLang with whole weights', {
  ...contract,
  open: () => openComposite({ factory: sglangSampler, lora: false, inFlight: 'continue' }),
});
