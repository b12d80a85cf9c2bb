/**
 * The gated delta layer of a block, which keeps a state per head instead of the keys and values of
 * all positions.
 */
import type { Value } from '../onnx/graph/graph.js';
import { causalConvolution } from '../onnx/ops/convolution.js';
import { add, exp, multiply, negate, sigmoid, softplus, swiglu } from '../onnx/ops/elementwise.js';
import { gatedDelta } from '../onnx/ops/gated-delta.js';
import { rmsNorm } from '../onnx/ops/norm.js';
import { columns, reshape } from '../onnx/ops/shape.js';
import { deltaShape, type DeltaShape } from './config.js';
import { layerPrefix } from './parameters.js';
import { convolutionState, deltaState } from './row-states.js';
import { parameterOf, projectNamed, type Trunk } from './trunk.js';

/** Epsilon that transformers adds to the squared length of queries and keys. */
const lengthEpsilon = 1e-6;

/**
 * Applies the mixer to `h`. [B, S, d] -> [B, S, d] @see Yang et al., arXiv:2412.06464, section 3.4
 */
export function deltaMixer(trunk: Trunk, layer: number, h: Value): Value {
  const shape = deltaShape(trunk.config);
  const prefix = `${layerPrefix(layer)}linear_attn.`;
  const made = (name: string): Value => projectNamed(trunk, h, `${prefix}${name}`);
  const stored = (name: string): Value => parameterOf(trunk, `${prefix}${name}`);
  const taps = stored('conv1d.weight');
  const convolved = trunk.recurrence(convolutionState(layer), [made('in_proj_qkv')], ([x], past) =>
    causalConvolution(x!, taps, past),
  );
  const { q, k, v } = inHeads(multiply(convolved, sigmoid(convolved)), shape);
  const rate = softplus(add(made('in_proj_a'), stored('dt_bias')));
  const decay = negate(multiply(exp(stored('A_log')), rate));
  const beta = sigmoid(made('in_proj_b'));
  const read = trunk.recurrence(
    deltaState(layer),
    [q, k, v, decay, beta],
    ([queries, keys, values, decays, betas], past) =>
      gatedDelta({ q: queries!, k: keys!, v: values!, decay: decays!, beta: betas! }, past),
  );
  const normed = rmsNorm(read, stored('norm.weight'), trunk.config.normEpsilon);
  const gate = reshape(made('in_proj_z'), normed.shape);
  const flat = [...h.shape.slice(0, 2), shape.valueHeads * shape.valueDim];
  return projectNamed(trunk, reshape(swiglu(gate, normed), flat), `${prefix}out_proj`);
}

/**
 * Returns queries scaled to length 1 / sqrt(keyDim), keys scaled to length 1, and values. Queries
 * and keys are repeated to the number of value heads. [B, S, H, width] each
 */
function inHeads(all: Value, { keyHeads, keyDim, valueHeads, valueDim }: DeltaShape) {
  const width = keyHeads * keyDim;
  const lead = all.shape.slice(0, 2);
  const keyed = (start: number, length: number): Value => {
    const heads = reshape(columns(all, start, width), [...lead, keyHeads, keyDim]);
    // The root mean square is the length divided by the square root of the width.
    const weight = new Float32Array(keyDim).fill(length / Math.sqrt(keyDim));
    const scaled = rmsNorm(heads, all.graph.constant(weight, [keyDim]), lengthEpsilon / keyDim);
    return repeated(scaled, valueHeads / keyHeads);
  };
  return {
    q: keyed(0, 1 / Math.sqrt(keyDim)),
    k: keyed(width, 1),
    v: reshape(columns(all, 2 * width, valueHeads * valueDim), [...lead, valueHeads, valueDim]),
  };
}

/** Repeats each head `times` times, with its copies next to each other. [B, S, H, width] */
function repeated(x: Value, times: number): Value {
  if (times === 1) return x;
  const [batch, time, heads, width] = x.shape as [string, string, number, number];
  const ones = x.graph.constant(new Float32Array(times).fill(1), [times, 1]);
  const copies = multiply(reshape(x, [batch, time, heads, 1, width]), ones);
  return reshape(copies, [batch, time, heads * times, width]);
}
