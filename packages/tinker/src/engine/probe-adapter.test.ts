import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { EngineError, silentLogger } from '@trinity-rft/core';
import { recordingLogger } from '@trinity-rft/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Connection } from './http/connection.js';
import {
  gradientRatio,
  normalisationOf,
  probePrecision,
  type AdapterProbe,
} from './probe-adapter.js';
import type { AdamParams, RemoteModel } from './remote/model.js';

const adam: AdamParams = {
  learning_rate: 1e-6,
  beta1: 0.9,
  beta2: 0.999,
  eps: 1e-8,
  weight_decay: 0,
  grad_clip_norm: 0,
};

const bits = new DataView(new ArrayBuffer(4));
/** Rounds to the nearest bfloat16. */
function bf16(value: number): number {
  bits.setFloat32(0, value);
  bits.setUint32(0, (bits.getUint32(0) + 0x8000) & 0xffff0000);
  return bits.getFloat32(0);
}

/** Binary16 of a number that is 0, NaN, or in the normal range. */
function halfOfNumber(value: number): number {
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (size === 0) return 0;
  const exponent = Math.floor(Math.log2(size));
  const rest = ((exponent + 15) << 10) + Math.round((size / 2 ** exponent - 1) * 1024);
  return rest | (value < 0 ? 0x8000 : 0);
}

/** Bytes of numbers in each type. */
const files = {
  F32: (values: Float32Array) => Buffer.from(values.buffer),
  BF16: (values: Float32Array) =>
    Buffer.from(Uint16Array.from(new Uint32Array(values.buffer), (word) => word >>> 16).buffer),
  F16: (values: Float32Array) => Buffer.from(Uint16Array.from(values, halfOfNumber).buffer),
};

/** Settings that half precision does not turn into NaN. */
const small = { ...adam, beta2: 0.95 };

interface Kept {
  /** Rounds weights and moments as the server stores them. */
  readonly store: (value: number) => number;
  /** True to divide by the weight of the pass, as averaging servers do. */
  readonly isMean?: boolean;
  readonly status?: number;
  /** Rank of the adapter that the server makes. @default 4, the requested rank */
  readonly rank?: number;
  /** Type of the numbers in the file of the adapter. @default F32 */
  readonly dtype?: keyof typeof files;
  /** Number of downloads that the server answers; then it answers 404. @default no limit */
  readonly downloads?: number;
}

/** An adapter of 200 entries trained by AdamW, in the archive format of TuFT. */
function adapterOn(kept: Kept): AdapterProbe {
  const { store, isMean = false, status = 302, rank = 4, dtype = 'F32' } = kept;
  let { downloads = Infinity } = kept;
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-probe-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(path.join(root, 'adapter'));
  const entries = Array.from({ length: 200 }, (_, i) => ({
    gradient: (i % 2 ? -1 : 1) * (0.01 + i / 50),
    value: 0,
    m: 0,
    v: 0,
  }));
  let t = 0;
  const step: AdapterProbe['step'] = async (weight, params) => {
    t++;
    const { beta1, beta2, eps, learning_rate: rate } = params;
    for (const entry of entries) {
      const g = entry.gradient * (isMean ? 1 : weight);
      entry.m = store(beta1 * entry.m + (1 - beta1) * g);
      entry.v = store(store(beta2) * entry.v + store(1 - store(beta2)) * g * g);
      const [m, v] = [entry.m / (1 - beta1 ** t), entry.v / (1 - store(beta2) ** t)];
      entry.value = store(entry.value - (rate * m) / (Math.sqrt(v) + eps));
    }
    return {};
  };
  const save = (): void => {
    const values = Float32Array.from(entries, ({ value }) => value);
    const content = files[dtype](values);
    const shape = [200 / rank, rank];
    const header = JSON.stringify({
      __metadata__: { format: 'pt' },
      'a.q_proj.lora_B.weight': { dtype, shape, data_offsets: [0, content.length] },
    });
    const start = Buffer.alloc(8);
    start.writeBigUInt64LE(BigInt(header.length));
    const bytes = [start, Buffer.from(header), content];
    writeFileSync(path.join(root, 'adapter/adapter_model.safetensors'), Buffer.concat(bytes));
    writeFileSync(path.join(root, 'adapter/adapter_config.json'), '{"target_modules": ["q_proj"]}');
  };
  const model = { id: 'm', saveAdapter: async () => (save(), 'tinker://m') };
  const connection = {
    send: async ({ method }: { readonly method: string }) => {
      if (method === 'DELETE') return undefined;
      if (status === 404 || --downloads < 0)
        throw new EngineError('Not found.', { details: { status: 404 } });
      const location = pathToFileURL(root).href;
      return { status, contentType: '', location, bytes: new Uint8Array() };
    },
  };
  return {
    model: model as unknown as RemoteModel,
    connection: connection as unknown as Connection,
    step,
    logger: silentLogger,
    rank: 4,
  };
}

describe('the optimizer of a server', () => {
  it('that keeps float32 is accepted, also at a small learning rate', async () => {
    await expect(probePrecision(adapterOn({ store: Math.fround }), adam)).resolves.toBeUndefined();
  });

  it('of another rank than was asked for is refused before it is used', async () => {
    const smaller = adapterOn({ store: Math.fround, rank: 2 });
    await expect(probePrecision(smaller, adam)).rejects.toThrow(
      'made an adapter of rank 2, but rank 4 was asked for. Ask for rank 2',
    );
    const larger = adapterOn({ store: Math.fround, rank: 8 });
    await expect(probePrecision(larger, adam)).resolves.toBeUndefined();
  });

  it.each([0.95, 0.99])('that keeps half precision is refused with beta2 %s', async (beta2) => {
    await expect(probePrecision(adapterOn({ store: bf16 }), { ...adam, beta2 })).rejects.toThrow(
      /half precision: 4 updates at learning rate 0\.000001 moved 0\.0 % of the 200 entries .*training_backend: hf/,
    );
  });

  it('that makes NaN of 0.999 is refused by the adapter that it hands out', async () => {
    await expect(probePrecision(adapterOn({ store: bf16 }), adam)).rejects.toMatchObject({
      code: 'TINKER_NOT_FINITE',
      message: expect.stringContaining('holds NaN in a.q_proj.lora_B.weight'),
    });
  });

  it.each(['F32', 'BF16', 'F16'] as const)('that hands out NaN in %s is refused', async (dtype) => {
    const broken = adapterOn({ store: () => NaN, dtype });
    await expect(probePrecision(broken, adam)).rejects.toMatchObject({ code: 'TINKER_NOT_FINITE' });
  });

  it('that keeps half precision is refused also where it hands out float16', async () => {
    const half = adapterOn({ store: bf16, dtype: 'F16' });
    await expect(probePrecision(half, small)).rejects.toThrow('half precision');
  });

  it('is not tried where adapters are kept on the server', async () => {
    const logger = recordingLogger();
    for (const lent of [{ status: 404 }, { downloads: 1 }])
      await probePrecision({ ...adapterOn({ store: bf16, ...lent }), logger }, small);
    expect(logger.messages().filter((line) => line.includes('is not tried'))).toHaveLength(2);
    expect(await gradientRatio(adapterOn({ store: bf16, status: 404 }))).toBeUndefined();
  });

  it.each([
    ['sum', false],
    ['mean-per-datum', true],
  ])('shows that gradients are a %s', async (name, isMean) => {
    for (const store of [Math.fround, bf16]) {
      const ratio = await gradientRatio(adapterOn({ store, isMean }));
      expect(normalisationOf(ratio ?? 0, 0.1)).toBe(name);
    }
  });

  it('is refused where gradients are neither', () => {
    expect(() => normalisationOf(1.41, 0.1)).toThrow('1.410 times as large');
  });
});
