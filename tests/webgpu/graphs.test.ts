import { describe, expect, test } from 'vitest';
import type { ModelRecord } from '../../packages/engine-onnx/src/runtime/graph-runtime.js';
import { adapterGradientGraph } from '../../packages/engine-onnx/src/lora/graphs.js';
import { adapterSpecs, adapterTargets } from '../../packages/engine-onnx/src/lora/plan.js';
import {
  layerGradientGraph,
  layerGraph,
  logitsGradientGraph,
  logitsGraph,
  statesGradientGraph,
  statesGraph,
} from '../../packages/engine-onnx/src/model/layer-graphs.js';
import {
  backwardGraph,
  forwardGraph,
} from '../../packages/engine-onnx/src/model/training-graphs.js';
import { noSwiftShader } from '../support/src/gpu/swiftshader.js';
import { openRuntime } from './support/device.js';
import {
  difference,
  floats,
  inputsOf,
  integers,
  reference,
  trainingCase,
  wave,
  wholeHead,
  type Inputs,
  type Outputs,
} from './support/graphs.js';
import { modelNames, modelOf, withoutKernels } from './support/models.js';

/** Largest allowed difference, as a share of the largest entry of the tensor. */
const limit = 1e-5;

/** Outputs of a graph, which runs twice and must give the same bytes both times. */
async function computed(record: ModelRecord, inputs: Inputs): Promise<Outputs> {
  const runtime = await openRuntime();
  const graph = await runtime.load(record, 'train');
  const own = inputsOf(record, inputs);
  const arrays = Object.fromEntries(
    Object.entries(own).map(([name, input]) => [name, runtime.array(input)]),
  );
  const [first, second] = [await graph.run(arrays), await graph.run(own)];
  const found: Record<string, Outputs[string]> = {};
  for (const name of Object.keys(first)) {
    found[name] = await runtime.read(first[name]!);
    expect({ name, numbers: await runtime.read(second[name]!) }).toEqual({
      name,
      numbers: found[name],
    });
  }
  for (const array of [first, second, arrays].flatMap((each) => Object.values(each))) array.free();
  await graph.free();
  return found;
}

/** Largest difference of all outputs from those of the CPU engine. */
async function gap(record: ModelRecord, inputs: Inputs): Promise<number> {
  const [found, expected] = [await computed(record, inputs), await reference(record, inputs)];
  expect(Object.keys(found)).toEqual(Object.keys(expected));
  return Math.max(
    ...Object.entries(expected).map(([name, numbers]) => difference(found[name]!, numbers)),
  );
}

describe.skipIf(noSwiftShader)('graphs against the CPU engine', () => {
  test.each(modelNames.filter((name) => !withoutKernels.includes(name)))(
    'log-probabilities, entropies and gradients of %s',
    async (name) => {
      const { config, inputs } = trainingCase(modelOf(name));
      const options = { entropy: true, chunks: 1 };
      expect(
        await gap(forwardGraph(config, { ...options, parts: wholeHead }), inputs),
      ).toBeLessThan(limit);
      const record = backwardGraph(config, { ...options, logprobs: true });
      // Scores of Gemma 4 are not divided by anything, so softmax amplifies rounding errors.
      expect(await gap(record, inputs)).toBeLessThan(name === 'gemma4_text' ? 1e-4 : limit);
    },
  );

  const qwen3 = modelOf('qwen3');

  test('a head in parts', async () => {
    const { config, inputs } = trainingCase(qwen3, { chunks: 2 });
    const options = { entropy: true, chunks: 2, logprobs: true };
    expect(await gap(backwardGraph(config, options), inputs)).toBeLessThan(limit);
  });

  test('rows that share a prompt', async () => {
    const { config, inputs, batch, time } = trainingCase(qwen3, { lengths: [11, 11] });
    const [shared, second] = [4, 7];
    const each = (of: (t: number) => number) =>
      Int32Array.from({ length: batch * time }, (_, i) => of(i % time));
    const branches = each((t) => (t < shared ? 0 : t < second ? 1 : 2));
    const positions = each((t) => (t < second ? t : t - second + shared));
    const data = BigInt64Array.from(positions, BigInt);
    const options = { entropy: false, chunks: 1, logprobs: true, branching: true };
    expect(
      await gap(backwardGraph(config, options), {
        ...inputs,
        positions: { dtype: 'int64', shape: [batch, time], data },
        branches: integers([batch, time], branches),
      }),
    ).toBeLessThan(limit);
  });

  test('adapters', async () => {
    const { config, inputs } = trainingCase(qwen3);
    const modules = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];
    const plan = { rank: 4, alpha: 8, modules } as Parameters<typeof adapterGradientGraph>[1];
    const factors = adapterSpecs(adapterTargets(config, plan)).map(
      ({ name, shape, size }, i) =>
        [
          name,
          floats(
            shape,
            wave(size, i).map((x) => x / 5),
          ),
        ] as const,
    );
    expect(
      await gap(adapterGradientGraph(config, plan, { entropy: false, chunks: 1, logprobs: true }), {
        ...inputs,
        ...Object.fromEntries(factors),
      }),
    ).toBeLessThan(limit);
  });

  test('layers, and parts of the head', async () => {
    const { config, inputs, batch, time, picked } = trainingCase(qwen3);
    const width = config.hiddenSize;
    const column = (phase: number) => floats([picked, 1], wave(picked, phase));
    const states = {
      ...inputs,
      x: floats([batch, time, width], wave(batch * time * width)),
      grad_y: floats([batch, time, width], wave(batch * time * width, 1)),
      grad_states: floats([picked, width], wave(picked * width, 2)),
      states: floats([picked, width], wave(picked * width, 3)),
      weight: floats([10, width], wave(10 * width, 4)),
      targets: integers(
        [picked, 1],
        Int32Array.from({ length: picked }, (_, i) => i % 10),
      ),
      log_total: floats(
        [picked, 1],
        wave(picked).map((x) => x + 4),
      ),
      grad_targets: column(6),
      own_entropy: column(7),
    };
    const options = { branching: false };
    for (const make of [
      () => layerGraph(config, 0, options),
      () => layerGradientGraph(config, 0, options),
      () => statesGraph(config),
      () => statesGradientGraph(config, false),
      () => logitsGraph(config),
      () => logitsGradientGraph(config, { entropy: true, frozen: false }),
    ])
      expect(await gap(make(), states)).toBeLessThan(limit);
  });

  test('a layer of 256 numbers', async () => {
    const wide = { ...qwen3, hiddenSize: 256, intermediateSize: 64, layers: 1, vocabSize: 30 };
    const { config, inputs } = trainingCase({ ...wide, heads: 2, kvHeads: 1, headDim: 32 });
    const small = Object.fromEntries(
      Object.entries(inputs).map(([name, input]) => [
        name,
        input.shape.length === 2 && name.startsWith('model')
          ? { ...input, data: (input.data as Float32Array).map((x) => x / 4) }
          : input,
      ]),
    );
    const options = { entropy: false, chunks: 1, logprobs: true };
    expect(await gap(backwardGraph(config, options), small)).toBeLessThan(limit);
  });
});
