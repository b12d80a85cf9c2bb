/** Gradients of adapters on quantised weights, and the values of these weights. */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  openGguf,
  openGgufModel,
  tensorTypes,
  type GgufTensor,
  type StoredTensor,
} from '@trinity-rft/chat/gguf';
import { createRandom } from '@trinity-rft/core';
import { numberOfHalf } from '@trinity-rft/core/support';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { randomFormats, writeRandomGguf } from '../../test/support/gguf.js';
import { randomBatch } from '../../test/support/models.js';
import { difference, normals } from '../../test/support/numeric.js';
import { Adapters } from '../lora/adapters.js';
import { planAdapters } from '../lora/plan.js';
import type { ModelConfig } from '../model/config.js';
import {
  embeddingName,
  parameterCount,
  parameterSpecs,
  perLayerNames,
  type ParameterSpec,
} from '../model/parameters.js';
import { WeightBuffers } from '../model/weights.js';
import { Graph } from '../onnx/graph/graph.js';
import { blockInput, blockNumbers, blockProduct, type BlockFormat } from '../onnx/ops/blocks.js';
import type { HostArray, LoadedGraph } from '../runtime/graph-runtime.js';
import { floats } from '../runtime/host-arrays.js';
import { OnnxRuntime } from '../runtime/onnx-runtime.js';
import { loadModelFolder, readModelFiles } from '../storage/model-folder.js';
import { createModelFolder } from '../storage/new-model.js';
import { OnnxTrainer } from '../train/trainer.js';
import { decodeRow, QuantizedBase, readRow, type StoredParameter } from './base.js';
import { loadQuantizedBase } from './load.js';
import { paired, toBytes, toHalfBytes } from './quantize.js';
import { openQuantized } from './state.js';
import { cpu, flatOf } from '../../test/support/runtime.js';

const root = mkdtempSync(join(tmpdir(), 'quantized-gradients-'));
const folder = join(root, 'model');
const gguf = (name: string): string => join(root, `${name}.gguf`);
beforeAll(async () => {
  for (const name of randomFormats) writeRandomGguf(gguf(name), () => name);
  writeRandomGguf(gguf('mixed'), (name) =>
    /attn_v|token_embd|1.ffn_down/.test(name) ? 'Q6_K' : 'Q4_K',
  );
  await createModelFolder({
    directory: folder,
    seed: 3,
    initializerRange: 0.15,
    config: {
      vocabSize: 96,
      hiddenSize: 80,
      layers: 2,
      heads: 4,
      kvHeads: 2,
      headDim: 16,
      maxPositions: 64,
    },
  });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** All weights as numbers, in the layout of a model that is not quantised. */
function numbersOf(base: QuantizedBase, config: ModelConfig): Float32Array {
  const flat = new Float32Array(parameterCount(config));
  for (const spec of parameterSpecs(config)) {
    const stored = base.of(spec);
    const into = flat.subarray(spec.offset, spec.offset + spec.size);
    const [rows = 1, width = 1] = spec.shape.length === 1 ? [1, ...spec.shape] : spec.shape;
    for (let row = 0; row < rows; row++)
      decodeRow(stored, row, into.subarray(row * width, (row + 1) * width));
  }
  return flat;
}

const largest = (numbers: Float32Array): number =>
  numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
const distance = (a: Float32Array, b: Float32Array): number =>
  largest(a.map((value, i) => value - b[i]!));

describe('the weights of a GGUF file', () => {
  test.each(randomFormats)('in %s are those of the model that is read as numbers', async (name) => {
    const { config, weights } = await loadModelFolder(gguf(name));
    const base = await loadQuantizedBase(gguf(name), config, 'file');
    const found = numbersOf(base, config);
    // Offsets are counted from the middle of the integers, which rounds them once more.
    const hasOffsets = /_1|Q[45]_K/.test(name);
    expect(distance(found, weights)).toBeLessThanOrEqual(hasOffsets ? 1e-7 : 0);
    expect([...base.formats.keys()]).toHaveLength(15);
    const ids = Int32Array.of(3, 95, 0);
    const { hiddenSize: width } = config;
    expect([...base.embed(ids, embeddingName)]).toEqual(
      [...ids].flatMap((id) => [...found.subarray(id * width, (id + 1) * width)]),
    );
  });
});

test('NaN in a scale is refused with file and tensor', async () => {
  const path = gguf('NaN in a scale');
  writeRandomGguf(path, () => 'Q8_0', true);
  const tensor = openGguf(path).tensors.get('blk.1.ffn_up.weight') as GgufTensor & {
    readonly begin: number;
  };
  const file = openSync(path, 'r+');
  // A block begins with its scale, a 16-bit float.
  writeSync(file, Uint8Array.of(0x00, 0x7e), 0, 2, tensor.begin);
  closeSync(file);
  const { config } = await readModelFiles(path);
  await expect(loadQuantizedBase(path, config, 'file')).rejects.toThrow(
    `${path}: tensor model.layers.1.mlp.up_proj.weight contains NaN`,
  );
});

describe('an embedding table of which only rows are read', () => {
  test.each(['F16', 'BF16', ...randomFormats])(
    'in %s takes the bytes of the file',
    async (name) => {
      const path = gguf(`table ${name}`);
      writeRandomGguf(path, (each) => (each === 'token_embd.weight' ? name : 'Q8_0'), true);
      const { config, weights } = await loadModelFolder(path);
      const base = await loadQuantizedBase(path, config, 'file');
      const [table] = parameterSpecs(config);
      const { blockBytes, blockLength } = [...tensorTypes.values()].find(
        (type) => type.name === name,
      )!;
      const { byteLength } = base.of(table!) as StoredTensor;
      expect(byteLength).toBe((table!.size / blockLength) * blockBytes);
      expect(base.feeds).not.toHaveProperty([embeddingName]);

      const decoded = new QuantizedBase(
        config,
        new Map(parameterSpecs(config).map((spec) => [spec.name, decodedOf(path, spec, weights)])),
      );
      const ids = Int32Array.of(3, 95, 0, 3);
      expect(base.embed(ids, embeddingName)).toEqual(decoded.embed(ids, embeddingName));
      expect(await base.digest()).toBe(await decoded.digest());
      expect(base.graphBytes).toBe(decoded.graphBytes);
    },
  );

  test('in F16 takes the bytes of the file also where it is the head', async () => {
    const path = new URL('../../test/fixtures/gemma4_text/model.gguf', import.meta.url).pathname;
    const { config, weights } = await loadModelFolder(path);
    const base = await loadQuantizedBase(path, config, 'file');
    for (const name of [embeddingName, perLayerNames.table]) {
      const { size, offset } = parameterSpecs(config).find((each) => each.name === name)!;
      expect((base.of({ name }) as StoredTensor).byteLength).toBe(2 * size);
      const width = size / config.vocabSize;
      expect(base.embed(Int32Array.of(39, 7), name)).toEqual(
        Float32Array.of(
          ...weights.subarray(offset + 39 * width, offset + 40 * width),
          ...weights.subarray(offset + 7 * width, offset + 8 * width),
        ),
      );
    }
    const { hiddenSize: width } = config;
    expect(base.part(embeddingName, 'weight', 8, 24)).toEqual({
      weight: floats(weights.slice(8 * width, 24 * width), [16, width]),
    });
  });
});

/** A parameter as blocks, or as float32 numbers, of a file that is read as a whole. */
function decodedOf(
  path: string,
  { name, offset, size }: ParameterSpec,
  weights: Float32Array,
): StoredParameter {
  const model = openGgufModel(path);
  try {
    return model.tensors.get(name)?.readLevels() ?? weights.subarray(offset, offset + size);
  } finally {
    model.close();
  }
}

/** Counts the graphs that keep the memory of their last execution. */
class CountingRuntime extends OnnxRuntime {
  readonly #holding = new Set<LoadedGraph>();
  /** Largest number of graphs for training that kept memory at once. */
  most = 0;

  override async load(...given: Parameters<OnnxRuntime['load']>): Promise<LoadedGraph> {
    const graph = await super.load(...given);
    if (given[1] !== 'train') return graph;
    const forget = (): void => void this.#holding.delete(graph);
    return {
      run: (...inputs) => {
        this.most = Math.max(this.most, this.#holding.add(graph).size);
        return graph.run(...inputs);
      },
      trim: () => (forget(), graph.trim()),
      free: () => (forget(), graph.free()),
    };
  }
}

test.each([
  ['one graph', 1],
  ['several graphs whose layers are small', 2 ** 30],
])('gradients beside quantised weights keep the memory of %s', async (kept, budget) => {
  const modelPath = new URL('../../test/fixtures/gemma4_text/', import.meta.url).pathname;
  const files = await readModelFiles(modelPath);
  const runtime = new CountingRuntime({ threads: { train: 1, sample: 1 } });
  const lora = { rank: 2, alpha: 2, seed: 1 };
  const options = { modelPath, lora, quantization: 'int8', reference: false } as const;
  const { weights, trainable, kernels } = await openQuantized(options, runtime, files);
  const memory = { budget };
  const trainer = new OnnxTrainer({ config: files.config, weights, trainable, memory });
  const pass = await trainer.forward(randomBatch(files.config, [9, 14], 3, 0.8));
  await trainer.backward(pass, { logprobs: pass.logprobs });
  expect(runtime.most === 1).toBe(kept === 'one graph');
  // ONNX Runtime makes the processor treat subnormal numbers of float32 as 0, but F16 keeps its own.
  expect(numberOfHalf(1)).toBe(2 ** -24);
  await trainer.close();
  await kernels.close();
});

describe('rounding', () => {
  const numbers = normals(createRandom(1), 12 * 96);
  const error = (format: BlockFormat, stored: ReturnType<typeof toBytes>): number => {
    const row = new Float32Array(96);
    let sum = 0;
    for (let at = 0; at < 12; at++) {
      readRow({ ...format, ...stored }, at, row);
      row.forEach((value, i) => (sum += (value - numbers[at * 96 + i]!) ** 2));
    }
    return Math.sqrt(sum / numbers.length);
  };
  test('to 8 bits leaves half a percent, to 4 bits 8', () => {
    const shape = [12, 96] as const;
    expect(error({ bits: 8, length: 32, hasOffsets: false }, toBytes(numbers, shape))).toBeLessThan(
      0.0065,
    );
    const four = error({ bits: 4, length: 32, hasOffsets: false }, toHalfBytes(numbers, shape));
    expect(four).toBeGreaterThan(0.05);
    expect(four).toBeLessThan(0.085);
  });
  test.each([
    ['int8', 'gemma4_text/'],
    ['int4', 'gemma4_text/'],
    ['int4', 'llama/model.gguf'],
  ] as const)('to %s some rows of %s at a time changes nothing', async (kind, model) => {
    const path = new URL(`../../test/fixtures/${model}`, import.meta.url).pathname;
    const { config } = await readModelFiles(path);
    const whole = await loadQuantizedBase(path, config, kind);
    const inParts = await loadQuantizedBase(path, config, kind, 100);
    expect(await inParts.digest()).toBe(await whole.digest());
  });
  test('of zeros, and of rows that end within a block, is exact where it can be', () => {
    const few = Float32Array.from({ length: 2 * 40 }, (_, i) => (i < 40 ? 0 : (i % 15) - 7));
    const row = new Float32Array(40);
    for (const [bits, round] of [
      [8, toBytes],
      [4, toHalfBytes],
    ] as const)
      for (const at of [0, 1]) {
        readRow({ bits, length: 32, hasOffsets: false, ...round(few, [2, 40]) }, at, row);
        expect(distance(row, few.subarray(40 * at, 40 * at + 40))).toBeLessThan(
          at * (bits === 8 ? 0.03 : 0.6) + 1e-9,
        );
      }
  });
});

test.each(['Q8_0', 'Q4_0', 'Q6_K', 'Q4_K', 'Q5_1'])(
  'the product of %s is that of its numbers, but for rounded activations',
  async (name) => {
    const { config } = await readModelFiles(gguf(name));
    const base = await loadQuantizedBase(gguf(name), config, 'file');
    const spec = parameterSpecs(config).find((each) =>
      each.name.endsWith('1.mlp.gate_proj.weight'),
    )!;
    const shape = spec.shape as readonly [number, number];
    const graph = new Graph();
    const x = graph.input('x', 'float32', ['R', shape[1]]);
    const matrix = blockInput(graph, spec.name, shape, base.formats.get(spec.name)!);
    const packed = blockInput(graph, 'packed', shape, base.formats.get(spec.name)!);
    graph.output('product', blockProduct(packed, x));
    graph.output('numbers', blockNumbers(matrix));
    const runtime = cpu();
    const loaded = await runtime.load(graph.record(), 'train');
    const rows = normals(createRandom(2), 3 * shape[1]);
    const own = Object.entries(base.feeds).filter(([input]) => input.startsWith(`${spec.name}.`));
    const isPaired = base.formats.get(spec.name)?.bits === 4;
    const feeds = Object.fromEntries(
      own.flatMap(([input, given]) => {
        const other =
          isPaired && input.endsWith('integers')
            ? { ...given, data: paired((given as HostArray).data as Uint8Array) }
            : given;
        return [
          [input, given],
          [`packed${input.slice(spec.name.length)}`, other],
        ];
      }),
    );
    const out = await loaded.run({ ...feeds, x: floats(rows, [3, shape[1]]) });
    await loaded.free();
    const numbers = (await runtime.read(out['numbers']!)) as Float32Array;
    expect([...numbers]).toEqual([
      ...numbersOf(base, config).subarray(spec.offset, spec.offset + spec.size),
    ]);
    const expected = Float32Array.from({ length: 3 * shape[0] }, (_, at) => {
      const [r, o] = [Math.floor(at / shape[0]), at % shape[0]];
      let sum = 0;
      for (let i = 0; i < shape[1]; i++)
        sum += rows[r * shape[1] + i]! * numbers[o * shape[1] + i]!;
      return sum;
    });
    expect(
      distance((await runtime.read(out['product']!)) as Float32Array, expected) / largest(expected),
    ).toBeLessThan(0.01);
  },
);

describe('gradients of adapters', () => {
  test.each([
    ['int8', folder],
    ['int4', folder],
    ['file', gguf('Q8_0')],
    ['file', gguf('Q4_0')],
    ['file', gguf('mixed')],
  ] as const)(
    'are those beside the same weights as numbers: %s',
    async (quantization, modelPath) => {
      const files = await readModelFiles(modelPath);
      const { config } = files;
      const lora = { rank: 3, alpha: 6, seed: 1 };
      const state = await openQuantized(
        { modelPath, lora, quantization, reference: false },
        cpu(),
        files,
      );
      const lively = normals(createRandom(8), flatOf(state.weights.training).length).map(
        (x) => 0.05 * x,
      );
      flatOf(state.weights.training).set(lively);
      const base = await loadQuantizedBase(modelPath, config, quantization);
      const weights = new WeightBuffers(cpu(), config, numbersOf(base, config));
      const adapters = await Adapters.open({
        config,
        plan: planAdapters(config, lora),
        weights,
        initial: lively.slice(),
      });
      await adapters.merge();
      const trainers = [
        new OnnxTrainer({ config, weights: state.weights, trainable: state.trainable }),
        new OnnxTrainer({ config, weights, trainable: adapters }),
      ] as const;
      const rows = randomBatch(config, [9, 14, 6], 3, 0.8);
      const random = createRandom(2);
      const logprobs = normals(random, 20);
      const entropy = normals(random, 20);
      for (const trainer of trainers) {
        const pass = await trainer.forward(rows);
        expect(pass.logprobs).toHaveLength(logprobs.length);
        await trainer.backward(pass, { logprobs, entropy });
      }
      const [found, expected] = trainers.map(({ gradient }) => flatOf(gradient!).slice()) as [
        Float32Array,
        Float32Array,
      ];
      const wrong = [];
      for (const { name, offset, size } of state.trainable.specs) {
        const [own, wanted] = [found, expected].map((flat) => flat.subarray(offset, offset + size));
        const error = distance(own!, wanted!) / largest(wanted!);
        if (!(error < 1e-4)) wrong.push({ name, error });
      }
      expect(wrong).toEqual([]);
      // And of the numbers themselves: central differences of the same scalar.
      const scalar = async (): Promise<number> => {
        await adapters.merge();
        const pass = await trainers[1].forward(rows, { entropy: true });
        return pass.logprobs.reduce(
          (sum, x, i) => sum + x * logprobs[i]! + pass.entropy![i]! * entropy[i]!,
          0,
        );
      };
      for (const { offset, size } of state.trainable.specs.filter((_, i) => i % 5 === 0)) {
        const at = offset + random.integer(size);
        const scale = Math.max(0.1, largest(found.subarray(offset, offset + size)));
        expect(
          Math.abs(found[at]! - (await difference(flatOf(adapters.set), at, scalar, 4e-3))) / scale,
        ).toBeLessThan(1e-2);
      }
      for (const trainer of trainers) await trainer.close();
      await adapters.close();
      await state.kernels!.close();
    },
  );
});
