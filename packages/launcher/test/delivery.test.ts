/** Damaged or wrong weights on their way from the trainer to an explorer are always noticed. */
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '@trinity-rft/core';
import type { Engine } from '@trinity-rft/core/engine';
import type { Delivery, Membership, PublishedWeights, RunView } from '@trinity-rft/core/store';
import { createModelFolder, onnxEngine } from '@trinity-rft/engine-onnx';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { followWeights } from '../src/modes/distributed/follow-weights.js';
import { listName, writeWeightList } from '../src/modes/distributed/weight-files.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-delivery-'));
const at = (name: string): string => path.join(root, name);
const weightsFile = (folder: string): string => path.join(at(folder), 'model.safetensors');

let engine: Engine;
let published: PublishedWeights;
const probe = { tokens: [1, 5, 2, 7, 3, 9, 4], promptLength: 1 };
const row = { tokens: Int32Array.from(probe.tokens), promptLength: 1, temperature: 1 };

const model = (folder: string, seed: number): Promise<unknown> =>
  createModelFolder({
    directory: at(folder),
    seed,
    config: {
      ...{ vocabSize: 16, hiddenSize: 16, layers: 2, heads: 2, kvHeads: 1, headDim: 8 },
      ...{ maxPositions: 32, eosTokenIds: [0] },
    },
    initializerRange: 0.3,
  });

async function listed(folder: string, run: string, version: number): Promise<string> {
  return (
    await writeWeightList(at(folder), {
      run,
      version,
      probe: { tokens: [], promptLength: 0, logprobs: [] },
    })
  ).digest;
}

/** Log-probabilities of the fixed text, as the trainer computes them. */
async function scoresOf(folder: string): Promise<readonly number[]> {
  await engine.trainer.load(at(folder));
  return [...(await engine.trainer.forward({ rows: [row] })).logprobs];
}

beforeAll(async () => {
  await model('start', 1);
  await model('new', 2);
  engine = await onnxEngine.open({ modelPath: at('start') });
  const digest = await listed('new', 'run', 4);
  published = {
    version: 4,
    exploredUpTo: 4,
    final: false,
    location: { kind: 'folder', path: at('received') },
    digest,
    probe: { ...probe, logprobs: await scoresOf('new') },
  };
});
afterAll(async () => {
  await engine.close();
  rmSync(root, { recursive: true, force: true });
});

/** Loads the published weights as an explorer does, and returns its report about them. */
async function receive(
  sampler = engine.sampler,
  end: () => RunView['end'] = () => undefined,
): Promise<{ error?: Error; delivery: Delivery }> {
  const deliveries: Delivery[] = [];
  const weights = followWeights({
    store: {
      publishedWeights: async () => published,
      getWeightFile: async () => undefined,
      view: async () => ({ end: end() }) as RunView,
      reportDelivery: async (_member, delivery) => void deliveries.push(delivery),
    },
    member: {} as Membership,
    sampler,
    run: 'run',
    scratch: at('scratch'),
    waitsForRuns: true,
    logger: silentLogger,
    onTaken: () => undefined,
  });
  const error = await weights.follow(false).then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  return { error, delivery: deliveries[0]! };
}

const fresh = (): void => {
  rmSync(at('received'), { recursive: true, force: true });
  cpSync(at('new'), at('received'), { recursive: true });
};

/** Changes the names and types in the header of the weights, which keeps its length. */
function editHeader(edit: (header: string) => string): void {
  const bytes = readFileSync(weightsFile('received'));
  const length = Number(bytes.readBigUInt64LE(0));
  const header = edit(bytes.toString('latin1', 8, 8 + length));
  bytes.write(header, 8, 'latin1');
  writeFileSync(weightsFile('received'), bytes);
}

const swapLayers = (): void =>
  editHeader((header) =>
    header.replaceAll(/layers\.([01])\./g, (_, layer) => `layers.${1 - Number(layer)}.`),
  );

/** Faults of the published weights, or of loading them. */
const faults: readonly {
  readonly name: string;
  readonly inject: () => unknown;
  readonly says: RegExp;
}[] = [
  {
    name: 'an old file',
    inject: () => cpSync(weightsFile('start'), weightsFile('received')),
    says: /model\.safetensors differs from what was published/,
  },
  {
    name: 'half a file',
    inject: () =>
      truncateSync(weightsFile('received'), readFileSync(weightsFile('new')).length / 2),
    says: /model\.safetensors has \d+ bytes; \d+ were published/,
  },
  {
    name: 'swapped layers',
    inject: swapLayers,
    says: /model\.safetensors differs from what was published/,
  },
  {
    name: 'another version',
    inject: () => listed('received', 'run', 3),
    says: /are of version 3, not of version 4/,
  },
  {
    name: 'another number type',
    inject: () => editHeader((header) => header.replaceAll('"F32"', '"I32"')),
    says: /model\.safetensors differs from what was published/,
  },
  {
    name: 'a truncated list',
    inject: () => truncateSync(path.join(at('received'), listName), 20),
    says: /weights\.json is not a list of weights/,
  },
  {
    name: 'weights of another run',
    inject: () => listed('received', 'other', 4),
    says: /are of another run, other/,
  },
];

describe('weights that an explorer receives', () => {
  it('are used when it scores the text of the trainer alike', async () => {
    fresh();
    const { error, delivery } = await receive();
    expect(error).toBeUndefined();
    expect(delivery.difference).toBeLessThanOrEqual(1e-5);
    expect(engine.sampler.policyVersion).toBe(4);
  });

  it.each(faults)('are refused: $name', async ({ inject, says }) => {
    await engine.sampler.adopt({ kind: 'checkpoint', directory: at('start') }, 0);
    fresh();
    await inject();
    const { error, delivery } = await receive();
    expect(error).toMatchObject({ code: 'DELIVERY_REFUSED' });
    expect(delivery.problem).toMatch(says);
    expect(engine.sampler.policyVersion).toBe(0);
  });

  it('are refused: a loader that keeps what it has', async () => {
    await engine.sampler.adopt({ kind: 'checkpoint', directory: at('start') }, 0);
    fresh();
    const { error, delivery } = await receive({ ...engine.sampler, adopt: async () => undefined });
    expect(error).toMatchObject({ code: 'DELIVERY_REFUSED' });
    expect(delivery.problem).toMatch(
      /scores the trainer's text differently, by 0\.\d+|other weights/,
    );
  });

  it('are refused when they were wrong before the trainer published them', async () => {
    fresh();
    swapLayers();
    const digest = await listed('received', 'run', 4);
    const own = published;
    published = { ...published, digest };
    const { error } = await receive();
    published = own;
    expect(error).toMatchObject({ code: 'DELIVERY_REFUSED' });
    expect(error?.message).toContain('other weights are in use');
  });

  it('are left alone when the trainer has replaced them while they were loaded', async () => {
    await engine.sampler.adopt({ kind: 'checkpoint', directory: at('start') }, 0);
    fresh();
    const own = published;
    const adopt: typeof engine.sampler.adopt = async (...args) => {
      rmSync(at('received'), { recursive: true });
      published = { ...published, version: 5, digest: 'newer' };
      await engine.sampler.adopt(...args);
    };
    const { error, delivery } = await receive({ ...engine.sampler, adopt });
    published = own;
    expect({ error, delivery }).toEqual({ error: undefined, delivery: undefined });
    expect(engine.sampler.policyVersion).toBe(0);
  });

  it('are left alone when a trainer publishes those of a finished run again meanwhile', async () => {
    fresh();
    let end: RunView['end'] = { trainStep: 4 };
    const adopt: typeof engine.sampler.adopt = async (...args) => {
      rmSync(at('received'), { recursive: true });
      end = undefined;
      await engine.sampler.adopt(...args);
    };
    const result = await receive({ ...engine.sampler, adopt }, () => end);
    expect(result).toEqual({ error: undefined, delivery: undefined });
  });
});
