/**
 * The head in parts: log-probabilities, entropies and their gradients without ever holding [R, V]
 * at once.
 */
import type { Dim } from '../onnx/graph/dims.js';
import type { Value } from '../onnx/graph/graph.js';
import { add, exp, multiply, negate } from '../onnx/ops/elementwise.js';
import { matmul, rowDot } from '../onnx/ops/matmul.js';
import { concat } from '../onnx/ops/shape.js';
import type { Trunk } from './block.js';
import { headLogprobs, headWeight } from './head.js';

export interface Scores {
  /** [R, 1] */
  readonly logprobs: Value;
  /** [R, 1] */
  readonly entropy?: Value;
  /** [R, 1] */
  readonly necs?: Value;
}

/**
 * Log-probability of each target, entropy H = -sum(p log p) and H sum(p^2) + sum(p^2 log p).
 * `states` [R, d], `targets` int32 [R, 1]
 */
export function chunkedHead(
  trunk: Trunk,
  states: Value,
  targets: Value,
  options: {
    readonly chunks: number;
    readonly entropy: boolean;
    readonly necs?: boolean | undefined;
  },
): Scores {
  const logprobs: Value[] = [];
  const entropy: Value[] = [];
  const necs: Value[] = [];
  inChunks([states, targets], options.chunks, ([part, ids]) => {
    const distribution = headLogprobs(trunk, part!);
    logprobs.push(pick(distribution, ids!));
    if (options.entropy || options.necs) {
      const p = exp(distribution);
      const own = negate(rowDot(p, distribution));
      if (options.entropy) entropy.push(own);
      if (options.necs)
        necs.push(add(multiply(own, rowDot(p, p)), rowDot(multiply(p, p), distribution)));
    }
    return [logprobs.at(-1)!, ...entropy.slice(-1), ...necs.slice(-1)];
  });
  return {
    logprobs: concat(logprobs, 0, 'R'),
    ...(options.entropy && { entropy: concat(entropy, 0, 'R') }),
    ...(options.necs && { necs: concat(necs, 0, 'R') }),
  };
}

export interface HeadGradientOptions {
  readonly chunks: number;
  /** [R, 1] */
  readonly gradLogprobs: Value;
  /** [R, 1] */
  readonly gradEntropy?: Value;
  /** The head's own gradient is not wanted. @default false */
  readonly frozen?: boolean;
}

/**
 * dL/dstates [R, d] and, unless it is frozen, dL/dW [V, d]. With l = log p, weight a of the
 * target's log-probability and e of the entropy H = -sum(p l): dL/dlogits = a onehot(target) - p (a
 * + e (l + H)).
 */
export function chunkedHeadGradients(
  trunk: Trunk,
  states: Value,
  targets: Value,
  options: HeadGradientOptions,
): { readonly states: Value; readonly weight?: Value } {
  const parts = [
    states,
    targets,
    options.gradLogprobs,
    ...(options.gradEntropy ? [options.gradEntropy] : []),
  ];
  const dStates: Value[] = [];
  let dWeight: Value | undefined;
  inChunks(parts, options.chunks, ([part, ids, a, e]) => {
    const dLogits = logitGradients(headLogprobs(trunk, part!), ids!, a!, e);
    dStates.push(matmul(dLogits, headWeight(trunk)));
    if (options.frozen) return dStates.slice(-1);
    const own = matmul(dLogits, part!, { transposeA: true });
    dWeight = dWeight ? add(dWeight, own) : own;
    return [dWeight, dStates.at(-1)!];
  });
  return { states: concat(dStates, 0, 'R'), ...(dWeight && { weight: dWeight }) };
}

function logitGradients(logp: Value, ids: Value, a: Value, e: Value | undefined): Value {
  const p = exp(logp);
  const factor = e ? negate(add(multiply(logp, e), entropyFactor(logp, p, a, e))) : negate(a);
  return logp.graph.node(
    'ScatterElements',
    [multiply(p, factor), ids, a],
    { shape: logp.shape },
    { attributes: { axis: 1, reduction: 'add' } },
  );
}

/** a + e H, [R, 1] */
function entropyFactor(logp: Value, p: Value, a: Value, e: Value): Value {
  return add(a, multiply(e, negate(rowDot(p, logp))));
}

function pick(logp: Value, ids: Value): Value {
  return logp.graph.node(
    'GatherElements',
    [logp, ids],
    { shape: ids.shape },
    { attributes: { axis: 1 } },
  );
}

/**
 * Cuts values into equal parts along their first dimension and calls `work` for each. A part begins
 * only when the results of the part before it are there: otherwise the runtime may compute the
 * logits of all parts first and hold them together.
 */
function inChunks(
  values: readonly Value[],
  chunks: number,
  work: (parts: readonly Value[]) => readonly Value[],
): void {
  if (chunks === 1) {
    work(values);
    return;
  }
  const rows: Dim = 'R/chunks';
  const split = values.map((value) =>
    value.graph.nodes(
      'Split',
      [value],
      Array.from({ length: chunks }, () => ({ shape: value.shape.with(0, rows) })),
      {
        attributes: { axis: 0, num_outputs: chunks },
      },
    ),
  );
  let before: readonly Value[] = [];
  for (let i = 0; i < chunks; i++) {
    const [states, ...rest] = split.map((parts) => parts[i]!);
    before = work([before.reduce(after, states!), ...rest]);
  }
}

/**
 * `value`, available once `earlier` is computed: its rows are taken from an index that is 0 made
 * from `earlier`.
 */
function after(value: Value, earlier: Value): Value {
  const { graph } = value;
  const flat = graph.node('Reshape', [earlier, graph.integers([-1])], { shape: ['elements'] });
  const first = graph.node('Slice', [flat, graph.integers([0]), graph.integers([1])], {
    shape: [1],
  });
  const never = graph.node('Greater', [first, graph.scalar(Infinity)], {
    shape: [1],
    dtype: 'bool',
  });
  const zero = graph.node(
    'Cast',
    [never],
    { shape: [1], dtype: 'int64' },
    { attributes: { to: 7 } },
  );
  return graph.node('Slice', [value, zero, graph.integers([2 ** 40]), graph.integers([0])], {
    shape: value.shape,
  });
}
