/** The feed-forward branch of a block: one gated unit, or experts. */
import { dimAt, type Value } from '../onnx/graph/graph.js';
import { add, gelu, geluTanh, multiply, swiglu } from '../onnx/ops/elementwise.js';
import { routingWeights } from '../onnx/ops/routing.js';
import { columns } from '../onnx/ops/shape.js';
import { layerTraits, type Activation, type Experts, type ModelConfig } from './config.js';
import { expertName, layerPrefix } from './parameters.js';
import { parameterOf, project, projectNamed, type Trunk } from './trunk.js';

const gatedUnits: Readonly<Record<Activation, (gate: Value, up: Value) => Value>> = {
  silu: swiglu,
  gelu: (gate, up) => multiply(gelu(gate), up),
  gelu_tanh: (gate, up) => multiply(geluTanh(gate), up),
};

/** Returns act(gate) * up. */
export const gatedUnit = (
  { activation = 'silu' }: Pick<ModelConfig, 'activation'>,
  gate: Value,
  up: Value,
): Value => gatedUnits[activation](gate, up);

/** Applies the branch to `h`. [B, S, d] -> [B, S, d] */
export function feedForward(trunk: Trunk, layer: number, h: Value): Value {
  const { experts } = trunk.config;
  const prefix = `${layerPrefix(layer)}mlp.`;
  return experts && !layerTraits(trunk.config, layer).dense
    ? mixture(trunk, h, prefix, experts)
    : unit(trunk, h, prefix);
}

/** Applies the gated unit: down(act(gate(h)) * up(h)). */
function unit(trunk: Trunk, h: Value, prefix: string): Value {
  const { config } = trunk;
  const [gate, up] = config.fusedFeedForward
    ? halves(projectNamed(trunk, h, `${prefix}gate_up_proj`))
    : [projectNamed(trunk, h, `${prefix}gate_proj`), projectNamed(trunk, h, `${prefix}up_proj`)];
  return projectNamed(trunk, gatedUnit(config, gate, up), `${prefix}down_proj`);
}

function halves(both: Value): readonly [Value, Value] {
  const width = (dimAt(both, -1) as number) / 2;
  return [columns(both, 0, width), columns(both, width, width)];
}

/**
 * Sums the outputs of the experts, each multiplied by its routing weight. An expert that the router
 * did not select has weight 0. All experts are computed for every token, so the number of rows of a
 * matrix product, and with it the order of its sums, does not depend on the tokens.
 */
function mixture(
  trunk: Trunk,
  h: Value,
  prefix: string,
  { count, active, normalize }: Experts,
): Value {
  const logits = project(trunk, h, parameterOf(trunk, `${prefix}gate.weight`));
  const weights = routingWeights(logits, { active, normalize });
  const outputs = Array.from({ length: count }, (_, expert) =>
    multiply(unit(trunk, h, prefix + expertName(expert)), columns(weights, expert, 1)),
  );
  return outputs.reduce(add);
}
