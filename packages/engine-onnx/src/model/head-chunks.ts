/**
 * Computes the output head in parts: log-probabilities, entropies and their gradients. Only one
 * part of the logits [R, V] is in memory at a time.
 */
import type { Dim } from '../onnx/graph/dims.js';
import type { Value } from '../onnx/graph/graph.js';
import { add, exp, multiply, negate } from '../onnx/ops/elementwise.js';
import { matmul, rowDot } from '../onnx/ops/matmul.js';
import { cast, gatherElements, scatterElements } from '../onnx/ops/select.js';
import { concat } from '../onnx/ops/shape.js';
import { headDistribution, headWeight } from './head.js';
import type { Trunk } from './trunk.js';

export interface Scores {
  /** Log-probability of each target. [R, 1] */
  readonly logprobs: Value;
  /** Entropy of each distribution. [R, 1] */
  readonly entropy?: Value;
  /** H sum(p^2) + sum(p^2 log p) of each distribution. [R, 1] */
  readonly necs?: Value;
}

/** Input of a head. */
export interface ScoredStates {
  /** Hidden states that the head reads. [R, d] */
  readonly states: Value;
  /** Ids of the target tokens. int32 [R, 1] */
  readonly targets: Value;
  /** 1 / temperature of each row. [R, 1] */
  readonly inverseTemperature: Value;
}

/**
 * Computes the log-probability of each target, the entropy H = -sum(p log p), and `necs` = H
 * sum(p^2) + sum(p^2 log p).
 */
export function chunkedHead(
  trunk: Trunk,
  scored: ScoredStates,
  options: ScoreOptions & { readonly chunks: number },
): Scores {
  const found: Scores[] = [];
  inChunks(partsOf(trunk, scored), options.chunks, (part) => {
    const { logprobs: distribution } = headDistribution(
      trunk,
      part.states,
      part.inverseTemperature ?? scored.inverseTemperature,
    );
    const scores = scoresOf(distribution, part.targets, options);
    found.push(scores);
    return Object.values(scores).filter((value) => value !== undefined);
  });
  const joined = (name: keyof Scores): Value | undefined => {
    const parts = found.flatMap((scores) => scores[name] ?? []);
    return parts.length > 0 ? concat(parts, 0, 'R') : undefined;
  };
  return { logprobs: joined('logprobs')!, entropy: joined('entropy'), necs: joined('necs') };
}

export interface ScoreOptions {
  readonly entropy: boolean;
  /** True to compute `necs` as well. @default false */
  readonly necs?: boolean;
}

/**
 * Computes the log-probability of each row's target and, if requested, its entropy and `necs`.
 * `logprobs` is [R, V], `targets` is int32 [R, 1].
 */
export function scoresOf(
  logprobs: Value,
  targets: Value,
  { entropy, necs = false }: ScoreOptions,
): Scores {
  const scores = { logprobs: gatherElements(logprobs, targets, 1) };
  if (!entropy && !necs) return scores;
  const p = exp(logprobs);
  const own = negate(rowDot(p, logprobs));
  return {
    ...scores,
    ...(entropy && { entropy: own }),
    ...(necs && {
      necs: add(multiply(own, rowDot(p, p)), rowDot(multiply(p, p), logprobs)),
    }),
  };
}

export interface HeadGradientOptions {
  readonly chunks: number;
  /** dL/dlogprob of each target. [R, 1] */
  readonly gradLogprobs: Value;
  /** dL/dentropy of each distribution. [R, 1] */
  readonly gradEntropy?: Value;
  /** True to omit the gradient of the head's weight. @default false */
  readonly frozen?: boolean;
  /** True to return the log-probability of each target as well. @default false */
  readonly logprobs?: boolean | undefined;
}

export interface HeadGradients {
  /** dL/dstates. [R, d] */
  readonly states: Value;
  /** dL/dW; absent if the head is frozen. [V, d] */
  readonly weight?: Value;
  /** Log-probability of each target; present if requested. [R, 1] */
  readonly logprobs?: Value;
}

/**
 * Computes dL/dstates and, unless the head is frozen, dL/dW. With l = log p, the entropy H = -sum(p
 * l), a = dL/dlogprob of the target and e = dL/dH: dL/dlogits = a onehot(target) - p (a + e (l +
 * H)).
 */
export function chunkedHeadGradients(
  trunk: Trunk,
  scored: ScoredStates,
  options: HeadGradientOptions,
): HeadGradients {
  const { chunks, gradLogprobs: a, gradEntropy: e, frozen } = options;
  const dStates: Value[] = [];
  const found: Value[] = [];
  let weight: Value | undefined;
  inChunks({ ...partsOf(trunk, scored), a, e }, chunks, (part) => {
    const { logprobs, slope } = headDistribution(
      trunk,
      part.states,
      part.inverseTemperature ?? scored.inverseTemperature,
    );
    if (options.logprobs) found.push(gatherElements(logprobs, part.targets, 1));
    const dScaled = logitGradients(logprobs, part.targets, part.a, part.e);
    const dLogits = slope ? multiply(dScaled, slope) : dScaled;
    const dPart = matmul(dLogits, headWeight(trunk));
    dStates.push(dPart);
    const before = [dPart, ...found.slice(-1)];
    if (frozen) return before;
    const own = matmul(dLogits, part.states, { transposeA: true });
    weight = weight ? add(weight, own) : own;
    return [weight, ...before];
  });
  return {
    states: concat(dStates, 0, 'R'),
    weight,
    logprobs: options.logprobs ? concat(found, 0, 'R') : undefined,
  };
}

function logitGradients(logp: Value, ids: Value, a: Value, e: Value | undefined): Value {
  const p = exp(logp);
  const factor = e ? negate(add(multiply(logp, e), entropyFactor(logp, p, a, e))) : negate(a);
  return scatterElements(multiply(p, factor), ids, a, { axis: 1, reduction: 'add' });
}

/** Returns the factor a + e H of {@link chunkedHeadGradients}. [R, 1] */
function entropyFactor(logp: Value, p: Value, a: Value, e: Value): Value {
  return add(a, multiply(e, negate(rowDot(p, logp))));
}

/**
 * Returns the inputs that are divided into parts. Temperatures are among them only if {@link
 * headStates} has not divided the states by them.
 */
const partsOf = (
  { config }: Trunk,
  { states, targets, inverseTemperature }: ScoredStates,
): Omit<ScoredStates, 'inverseTemperature'> & Partial<ScoredStates> => ({
  states,
  targets,
  inverseTemperature: config.logitCap === undefined ? undefined : inverseTemperature,
});

type HeadInputs = { readonly states: Value } & Readonly<Record<string, Value | undefined>>;

/**
 * Divides values into equal parts along their first dimension and calls `work` for each part. A
 * part starts only when the results of the previous part are computed. Otherwise the runtime might
 * compute the logits of all parts first and keep them in memory at the same time.
 */
function inChunks<T extends HeadInputs>(
  values: T,
  chunks: number,
  work: (part: T) => readonly Value[],
): void {
  if (chunks === 1) {
    work(values);
    return;
  }
  const split = Object.entries(values).flatMap(([name, value]) =>
    value ? [[name, splitRows(value, chunks)] as const] : [],
  );
  let before: readonly Value[] = [];
  for (let i = 0; i < chunks; i++) {
    const part = Object.fromEntries(split.map(([name, parts]) => [name, parts[i]])) as T;
    before = work({ ...part, states: before.reduce(after, part.states) });
  }
}

function splitRows(value: Value, chunks: number): readonly Value[] {
  const rows: Dim = 'R/chunks';
  return value.graph.nodes(
    'Split',
    [value],
    Array.from({ length: chunks }, () => ({ shape: value.shape.with(0, rows) })),
    { attributes: { axis: 0, num_outputs: chunks } },
  );
}

/**
 * Returns a copy of `value` that is computed only after `earlier`. The copy is a slice whose start
 * index is always 0, but is computed from `earlier`.
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
  const zero = cast(never, 'int64');
  return graph.node('Slice', [value, zero, graph.integers([2 ** 40]), graph.integers([0])], {
    shape: value.shape,
  });
}
