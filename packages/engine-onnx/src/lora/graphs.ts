/** Graphs for adapters: the gradient graph, and the graph that merges adapters into weights. */
import type { ModelConfig } from '../model/config.js';
import type { ParameterSpec } from '../model/parameters.js';
import { differentiated, type TrainingGraphOptions } from '../model/training-graphs.js';
import { parameterOf } from '../model/trunk.js';
import { gradients } from '../onnx/autodiff.js';
import { Graph, type Value } from '../onnx/graph/graph.js';
import type { ModelRecord } from '../onnx/graph/record.js';
import { adapterScale, adapterSpecs, adapterTargets, type AdapterPlan } from './plan.js';

/**
 * Builds the gradient graph for adapters, a variant of the gradient graph in
 * `model/training-graphs.ts`. The matrices of the adapters are additional inputs, and only their
 * gradients `grad.<matrix>` are outputs. The parameters of the model have the adapters merged in,
 * so the graph differentiates the function that the sampler computes.
 */
export function adapterGradientGraph(
  config: ModelConfig,
  plan: AdapterPlan,
  options: TrainingGraphOptions,
): ModelRecord {
  const graph = new Graph();
  const targets = adapterTargets(config, plan);
  const inputOf = ({ name, shape }: ParameterSpec): Value => graph.input(name, 'float32', shape);
  const scale = adapterScale(plan);
  const factors = targets.map(({ weight, a, b }) => ({
    name: weight.name,
    factors: { a: inputOf(a), b: inputOf(b), scale },
  }));
  const { seed } = differentiated(
    graph,
    config,
    options,
    (parameters) =>
      new Map(
        factors.map((each) => [parameterOf({ config, parameters }, each.name), each.factors]),
      ),
  );
  const found = gradients(
    [seed],
    factors.flatMap(({ factors: { a, b } }) => [a, b]),
  );
  for (const [i, { name }] of adapterSpecs(targets).entries())
    graph.output(`grad.${name}`, found[i]!);
  return graph.record();
}

/**
 * Builds the graph that computes `merged` = `weight` + scale * (`b` `a`) for one layer of any size.
 * Shapes of `weight`, `b` and `a`: [O, I], [O, r] and [r, I].
 */
export function mergeGraph(plan: AdapterPlan): ModelRecord {
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
  return graph.record();
}
