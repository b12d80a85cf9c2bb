/** Samplers over stand-ins for vLLM servers, whose model is a table of bigrams. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger, systemClock } from '@trinity-rft/core';
import type { RemoteSampler, SamplerOptions } from '@trinity-rft/core/engine';
import { fakeEngine, openFakeEngine } from '@trinity-rft/testing';
import { vllmStandIn, type VllmStandIn, type VllmStandInOptions } from '@trinity-rft/test-support';
import { onTestFinished } from 'vitest';
import { openVllmSampler } from '../src/index.js';

export const vocabSize = 16;
export const prompt = Int32Array.of(3, 1, 2);

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'engine-vllm-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a checkpoint of the model with this seed. */
export async function checkpoint(seed: number): Promise<string> {
  const directory = path.join(temporaryFolder(), 'checkpoint');
  await fakeEngine({ vocabSize, seed }).trainer.save(directory, { optimizer: false });
  return directory;
}

export async function startServer(options: Partial<VllmStandInOptions> = {}): Promise<VllmStandIn> {
  const server = await vllmStandIn({
    open: (folder) => openFakeEngine(folder, { vocabSize }),
    vocabSize,
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

export async function openSampler(
  servers: SamplerOptions['servers'],
  options: Partial<SamplerOptions> = {},
  open = openVllmSampler,
): Promise<RemoteSampler> {
  const sampler = await open({
    modelPath: await checkpoint(0),
    servers,
    maxModelLen: 64,
    tolerance: 1e-5,
    timeoutMs: 60_000,
    clock: systemClock,
    logger: silentLogger,
    ...options,
  });
  onTestFinished(() => sampler.close());
  return sampler;
}
