import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ChatFormat } from '@trinity-rft/chat';
import type { StageConfig } from '@trinity-rft/config';
import type { TrainEngine } from '@trinity-rft/core/engine';
import type { Membership, PublishedWeights, RunStore } from '@trinity-rft/core/store';
import { fakeEngine } from '@trinity-rft/testing';
import { expect, it, onTestFinished } from 'vitest';
import {
  publishingTransport,
  type PublishOptions,
} from '../src/modes/distributed/publish-weights.js';

it('what an old version has on a server is deleted before its folder', async () => {
  const jobDirectory = mkdtempSync(path.join(tmpdir(), 'publish-'));
  onTestFinished(() => rmSync(jobDirectory, { recursive: true }));
  const discarded: string[] = [];
  const trainer: Partial<TrainEngine> = {
    save: async (folder) => writeFileSync(path.join(folder, 'weights'), ''),
    forward: async (batch) => ({ batch, offsets: new Int32Array(1), logprobs: new Float32Array() }),
    discard: async (folder) => {
      expect(existsSync(folder)).toBe(true);
      discarded.push(path.basename(folder));
    },
  };
  let newest: PublishedWeights | undefined;
  const store: Partial<RunStore> = {
    publishedWeights: async () => newest,
    publishWeights: async (_, published) => void (newest = published),
  };
  const synchronizer = { syncMethod: 'checkpoint', syncStyle: 'fixed' };
  const transport = publishingTransport({
    stage: { name: 'run', jobDirectory, synchronizer, model: {} } as StageConfig,
    store: store as RunStore,
    member: {} as Membership,
    engine: { ...fakeEngine(), trainer: trainer as TrainEngine },
    format: { tokenizer: { encode: () => [1, 2] } } as unknown as ChatFormat,
    maxModelLen: 8,
    onAdopt: () => undefined,
  } satisfies PublishOptions);
  for (const version of [1, 2, 3]) await transport.publish(version, version);
  expect(discarded).toEqual(['version_1']);
  expect(existsSync(path.join(jobDirectory, 'sync', 'version_1'))).toBe(false);
});
