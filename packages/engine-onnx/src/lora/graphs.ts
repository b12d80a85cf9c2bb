/** The two graphs of adapters: their gradients, and the weights that they make. */
import type { ModelConfig } from '../model/config.js';
import { differentiated, type TrainingGraphOptions } from '../model/training-graphs.js';
import { gradients } from '../onnx/autodiff.js';
import { Graph } from '../onnx/graph/graph.js';
import { adapterScale, adapterSpecs, adapterTargets, type AdapterPlan } from './plan.js';

/**
 * The gradient graph of `model/training-graphs.ts` with the matrices of the adapters as further
 * inputs, and `grad.<matrix>` of these as its only outputs. The parameters that it is fed are the
 * merged ones, so what it differentiates is what the sampler computes.
 */
export function adapterGradientGraph(
  config: ModelConfig,
  plan: AdapterPlan,
  options: TrainingGraphOptions,
): Uint8Array {
  const graph = new Graph();
  const targets = adapterTargets(config, plan);
  const specs = adapterSpecs(targets);
  const values = new Map(
    specs.map(({ name, shape }) => [name, graph.input(name, 'float32', shape)]),
  );
  const scale = adapterScale(plan);
  const { seed } = differentiated(graph, config, options, (parameters) => {
    return new Map(
      targets.map(({ weight, a, b }) => [
        parameters.get(weight.name)!,
        { a: values.get(a.name)!, b: values.get(b.name)!, scale },
      ]),
    );
  });
  const found = gradients(
    [seed],
    specs.map(({ name }) => values.get(name)!),
  );
  specs.forEach(({ name }, i) => graph.output(`grad.${name}`, found[i]!));
  return graph.encode();
}

/** `merged` = `weight` + scale `b` `a` for one layer of any size: [O, I], [O, r] and [r, I]. */
export function mergeGraph(plan: AdapterPlan): Uint8Array {
  const graph = new Graph();
  const weight = graph.input('weight', 'float32', ['O', 'I']);
  const a = graph.input('a', 'float32', [plan.rank, 'I']);
  const b = graph.input('b', 'float32', ['O', plan.rank]);
  const merged = graph.node(
    'Gemm',
    [b, a, weight],
    { shape: weight.shape },
    { attributes: { alpha: { float: adapterScale(plan) } } },
  );
  graph.output('merged', merged);
  return graph.encode();
}
