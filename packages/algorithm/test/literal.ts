/** Reference implementation of every loss, written token by token from the formulas of the papers. */
import type { LossInput } from '@trinity-rft/core';
import type { LossAggMode } from '../src/parts/aggregate.js';

export interface Token {
  readonly trained: boolean;
  /** Log-probability, with respect to which losses are differentiated. */
  readonly x: number;
  /** The same value as a constant: sg(x). */
  readonly h: number;
  readonly o: number;
  readonly f: number;
  readonly A: number;
  readonly H: number;
}
export interface Row {
  readonly tokens: readonly Token[];
  readonly expert: boolean;
}
type Args = Readonly<Record<string, unknown>>;
/** Loss of one token of a row. */
type TokenLoss = (token: Token, row: Row, args: Args) => number;

/**
 * Converts a batch to rows. `x` replaces the current log-probabilities as the differentiated variable.
 */
export function toRows(
  input: LossInput,
  x: ArrayLike<number> = input.currentLogprobs,
): readonly Row[] {
  return Array.from({ length: input.offsets.length - 1 }, (_, row) => ({
    expert: input.expertMask?.[row] === 1,
    tokens: Array.from({ length: input.offsets[row + 1]! - input.offsets[row]! }, (_unused, i) => {
      const t = input.offsets[row]! + i;
      return {
        trained: input.actionMask[t] === 1,
        x: x[t]!,
        h: input.currentLogprobs[t]!,
        o: input.oldLogprobs[t]!,
        f: input.refLogprobs?.[t] ?? 0,
        A: input.advantages[t]!,
        H: input.entropy?.[t] ?? 0,
      };
    }),
  }));
}

const number = (args: Args, name: string, fallback: number): number =>
  (args[name] as number | undefined) ?? fallback;
const clip = (value: number, low: number, high: number): number =>
  Math.min(Math.max(value, low), high);
const exp20 = (d: number): number => Math.exp(clip(d, -20, 20));
const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);
const trainedOf = (row: Row): readonly Token[] => row.tokens.filter(({ trained }) => trained);
const logRatioSum = (row: Row): number => sum(trainedOf(row).map(({ h, o }) => h - o));
const logRatioMean = (row: Row): number =>
  clip(logRatioSum(row) / (trainedOf(row).length + 1e-8), -20, 20);
const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));

export function aggregate(
  rows: readonly Row[],
  mode: LossAggMode,
  valueOf: (token: Token, row: Row) => number,
  longest = 0,
): number {
  const sums = rows.map((row) => sum(trainedOf(row).map((token) => valueOf(token, row))));
  const counts = rows.map((row) => trainedOf(row).length);
  if (rows.length === 0) return 0;
  if (mode === 'token-mean') return sum(sums) / (sum(counts) + 1e-8);
  if (mode === 'seq-mean-token-sum') return sum(sums) / rows.length;
  if (mode === 'seq-mean-token-mean')
    return sum(sums.map((value, i) => value / (counts[i]! + 1e-8))) / rows.length;
  return sum(sums) / (Math.max(longest, ...rows.map(({ tokens }) => tokens.length)) + 1e-8);
}

const ppo: TokenLoss = ({ x, h, o, A }, row, args) => {
  const plain = args['fallbackToPolicyGradient'] === true;
  const range = number(args, 'clipRange', 0.2);
  const ratio = exp20(plain ? x - h : x - o);
  const clipped = clip(
    ratio,
    1 - number(args, 'clipRangeLow', range),
    1 + number(args, 'clipRangeHigh', range),
  );
  const loss = Math.max(-A * ratio, -A * clipped);
  const drift =
    sum(trainedOf(row).map((token) => (plain ? 0 : -clip(token.h - token.o, -20, 20)))) /
    (trainedOf(row).length + 1e-10);
  if (
    args['enableSequenceMasking'] === true &&
    A < 0 &&
    drift > number(args, 'deltaSequenceMasking', 0.1)
  )
    return 0;
  return A < 0 ? Math.min(loss, -A * number(args, 'clipRatioC', 3)) : loss;
};

const gspo: TokenLoss = ({ x, h, A }, row, args) => {
  const ratio = Math.exp(x - h + logRatioMean(row));
  return Math.max(
    -A * ratio,
    -A *
      clip(ratio, 1 - number(args, 'clipRangeLow', 3e-4), 1 + number(args, 'clipRangeHigh', 4e-4)),
  );
};

const cispo: TokenLoss = ({ x, h, o, A }, _row, args) => {
  const ratio = exp20(h - o);
  const left =
    (ratio > 1 + number(args, 'maskClipRangeHigh', 0.28) && A > 0) ||
    (ratio < 1 - number(args, 'maskClipRangeLow', 1) && A < 0);
  if (args['enableMaskClip'] === true && left) return 0;
  return (
    -A *
    clip(ratio, 1 - number(args, 'clipRangeLow', 1), 1 + number(args, 'clipRangeHigh', 0.28)) *
    x
  );
};

const sapo: TokenLoss = ({ x, h, o, A }, _row, args) => {
  const tau = A > 0 ? number(args, 'tauPos', 1) : number(args, 'tauNeg', 1.05);
  const gate = (d: number): number => (4 / tau) * sigmoid(tau * (exp20(d) - 1));
  return args['differentiateGate'] === true ? -A * gate(x - o) : -A * gate(h - o) * x;
};

const topr: TokenLoss = ({ x, h, o, A }, row, args) => {
  const ratio = exp20(args['sequenceRatio'] === true ? logRatioSum(row) : h - o);
  return -A * (A <= number(args, 'advantageThreshold', 0) ? clip(ratio, 0, 1) : 1) * x;
};

const sppo: TokenLoss = ({ x, h, o, A }, _row, args) => {
  const [ratio, bound] = [exp20(h - o), 1 + number(args, 'epsilon', 0.3)];
  return ratio >= 1 / bound && ratio <= bound ? -A * (x - o) : 0;
};

const truncated: TokenLoss = ({ x, h, o, A }, row, args) => {
  const ratio = exp20(args['level'] === 'sequence' ? logRatioSum(row) : h - o);
  const threshold = number(args, 'threshold', 2);
  return (
    -A *
    x *
    (args['mode'] === 'mask' ? (ratio > threshold ? 0 : ratio) : Math.min(ratio, threshold))
  );
};

const rec: TokenLoss = ({ x, h, o, A }, row, args) => {
  const [low, high] = [1 - number(args, 'epsilonLow', 0.2), 1 + number(args, 'epsilonHigh', 0.2)];
  const [outerLow, outerHigh] = [
    1 - number(args, 'epsilonLowPrime', 0.6),
    1 + number(args, 'epsilonHighPrime', 2),
  ];
  const [r, s] = [exp20(h - o), Math.exp(logRatioMean(row))];
  const twoSided = r >= low && r <= high;
  const oneSided = (ratio: number): boolean =>
    (ratio <= high && A >= 0) || (ratio >= low && A <= 0);
  const inRange: Record<string, boolean> = {
    none: true,
    'two-side': twoSided,
    'one-side': oneSided(r),
    'gspo-one-side': oneSided(s),
    ring: twoSided || (A >= 0 && r <= outerLow) || (A <= 0 && r >= outerHigh),
  };
  const weights: Record<string, number> = {
    none: A,
    importance_sampling: A * r,
    truncated_importance_sampling: A * clip(r, outerLow, outerHigh),
    gspo_importance_sampling: A * s,
    advantage: A * exp20(A / number(args, 'temp', 1)),
  };
  const weighed =
    weights[(args['weight'] as string | undefined) ?? 'none']! +
    (args['fixOpdAdvantage'] === true ? o - h : 0);
  const regularizers: Record<string, number> = { none: 0, k2: (x - o) ** 2, 'forward-kl': -x };
  const regularizer = regularizers[(args['regularizer'] as string | undefined) ?? 'none']!;
  return (
    (inRange[(args['clipMode'] as string | undefined) ?? 'none'] ? -weighed * x : 0) +
    number(args, 'regularizerCoef', 0) * regularizer
  );
};

const sftPhi: TokenLoss = ({ x, h }, _row, args) => {
  const [p, q] = [exp20(h), number(args, 'cutoffProb', 1)];
  return -p * (1 - p) * (q === 1 ? x : Math.min(x, Math.log(q)));
};

const tokenLosses: Readonly<Record<string, TokenLoss>> = {
  ppo,
  gspo,
  cispo,
  sapo,
  topr,
  sppo,
  rec,
  opmd: ({ x, A }, _row, args) => (-A * x) / (1 + number(args, 'tau', 1)),
  importance_sampling: ({ x, o, A }) => -A * exp20(x - o),
  truncated_importance_sampling: truncated,
  sft: ({ x }) => -x,
  sft_is: ({ x, h }) => -exp20(h) * x,
  sft_phi: sftPhi,
};

/** Sorts the candidates by d^2 and keeps the longest prefix whose mean is at most the threshold. */
function keptByM2po(rows: readonly Row[], threshold: number): ReadonlySet<Token> {
  const tokens = rows.flatMap(trainedOf);
  const inQuestion = tokens.filter(({ h, o, A }) => (A > 0 && h > o) || (A < 0 && h < o));
  const square = ({ h, o }: Token): number => Math.fround((h - o) ** 2);
  const kept = new Set(tokens);
  if (inQuestion.length === 0 || sum(inQuestion.map(square)) / inQuestion.length <= threshold)
    return kept;
  const sorted = inQuestion.toSorted((a, b) => square(a) - square(b));
  for (const [i, token] of sorted.entries())
    if (sum(sorted.slice(0, i + 1).map(square)) / (i + 1) > threshold) kept.delete(token);
  return kept;
}

function m2po(rows: readonly Row[], mode: LossAggMode, args: Args): number {
  const kept = keptByM2po(rows, number(args, 'm2Threshold', 0.04));
  const limit = number(args, 'logRatioClip', 20);
  return aggregate(rows, mode, (token) => {
    const { x, h, o, A } = token;
    return kept.has(token) ? -A * Math.exp(clip(h - o, -limit, limit) + (x - h)) : 0;
  });
}

function dpo(rows: readonly Row[], args: Args): number {
  const margins = rows.map(
    (row) => number(args, 'beta', 0.1) * sum(trainedOf(row).map(({ x, f }) => x - f)),
  );
  const pick = (parity: number): readonly number[] =>
    margins.filter((_, row) => row % 2 === parity);
  const [chosen, rejected] =
    args['pairing'] === 'each' ? [pick(0), pick(1)] : [[sum(pick(0))], [sum(pick(1))]];
  const smoothing = number(args, 'labelSmoothing', 0);
  const logSigmoid = (z: number): number =>
    z > 0 ? -Math.log1p(Math.exp(-z)) : z - Math.log1p(Math.exp(z));
  const losses = chosen.map(
    (C, i) =>
      -(1 - smoothing) * logSigmoid(C - rejected[i]!) - smoothing * logSigmoid(rejected[i]! - C),
  );
  return rows.length === 0 ? 0 : sum(losses) / losses.length;
}

function kinds(
  rows: readonly Row[],
  mode: LossAggMode,
  args: Args,
  mu: number,
  supervised: TokenLoss,
): number {
  const longest = Math.max(0, ...rows.map(({ tokens }) => tokens.length));
  const loss = (expert: boolean, tokenLoss: TokenLoss, own: unknown, factor: number): number => {
    const of = rows.filter((row) => row.expert === expert);
    const scale = args['normalization'] === 'kinds' ? 1 : of.length * factor;
    return (
      scale *
      aggregate(
        of,
        (own as LossAggMode | undefined) ?? mode,
        (token, row) => tokenLoss(token, row, args),
        longest,
      )
    );
  };
  const share = (total: string): number => {
    const perTrainer = Math.floor(number(args, total, 1) / number(args, 'ngpusTrainer', 1));
    const mini = number(args, 'ppoMiniBatchSize', 1);
    if (args['useDynamicBsz'] === true)
      return Math.floor(mini / number(args, 'ngpusTrainer', 1)) / (rows.length * perTrainer);
    return Math.floor(mini / number(args, 'ppoMicroBatchSizePerGpu', 1)) / perTrainer;
  };
  return (
    (1 - mu) * loss(false, ppo, args['grpoLossAggMode'], share('trainBatchSizeUsual')) +
    mu * loss(true, supervised, args['sftLossAggMode'], share('trainBatchSizeExpert'))
  );
}

function chordMu(step: number, args: Args): number {
  const [warmup, decay] = [number(args, 'muWarmupSteps', 0), number(args, 'muDecaySteps', 0)];
  const [peak, valley] = [number(args, 'muPeak', 0.1), number(args, 'muValley', 0.1)];
  if (step < warmup) return (step / warmup) * peak;
  return step < warmup + decay
    ? valley + (peak - valley) * 0.5 * (1 + Math.cos(Math.PI * ((step - warmup) / decay)))
    : valley;
}

/** The loss `name` as a function of x, with everything else fixed. */
export function literalLoss(
  name: string,
  args: Args,
  mode: LossAggMode,
  rows: readonly Row[],
  step: number,
): number {
  if (name === 'dpo') return dpo(rows, args);
  if (name === 'm2po') return m2po(rows, mode, args);
  if (name === 'mix') return kinds(rows, mode, args, number(args, 'mu', 0.1), tokenLosses['sft']!);
  if (name === 'mix_chord') {
    const supervised = tokenLosses[args['enablePhiFunction'] === false ? 'sft' : 'sft_phi']!;
    return kinds(rows, mode, { ...args, cutoffProb: 1 }, chordMu(step, args), supervised);
  }
  const tokenLoss = tokenLosses[name]!;
  const forced =
    name === 'rec' && args['clipMode'] === 'gspo-one-side' ? 'seq-mean-token-mean' : mode;
  return aggregate(rows, (args['lossAggMode'] as LossAggMode | undefined) ?? forced, (token, row) =>
    tokenLoss(token, row, args),
  );
}

/** Estimates of KL by name, as functions of x. */
export function literalKl(name: string, { x, o, f }: Token, rollouts: boolean): number {
  const a = f - x;
  const k3 = (value: number): number =>
    (value > 20 ? Math.exp(20) * (1 + value - 20) : Math.exp(value)) - value - 1;
  const estimates: Readonly<Record<string, number>> = {
    k1: -a,
    k2: (a * a) / 2,
    k3: k3(a),
    low_var_kl: clip(k3(clip(a, -20, 20)), -10, 10),
    abs: Math.abs(a),
    corrected_k3: (rollouts ? clip(exp20(x - o), 0, 2) : 1) * k3(a),
  };
  return estimates[name]!;
}
