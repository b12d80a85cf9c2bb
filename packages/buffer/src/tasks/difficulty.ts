/**
 * Estimates the model's probability of solving each task: BOTS, Bayesian online task selection
 * (arXiv:2510.26374), as in Trinity-RFT. Each task has a Beta distribution for its pass rate.
 * Observed pass rates update the tasks that were explored. For all other tasks, the pass rate is
 * predicted from the ability of the model. The ability is its position between a weak and a strong
 * reference model whose pass rates are known for each task.
 */
import { createRandom, deriveSeed, mean } from '@trinity-rft/core';
import type { JsonState, RowFeedback } from '@trinity-rft/core/store';
import { sampleBeta } from './sample-beta.js';

export interface DifficultyArgs {
  /** Number of rollouts that an observation counts as. @default 16 */
  readonly m: number;
  /** Share of the earlier estimate that each update discards. @default 0.2 */
  readonly lamb: number;
  /**
   * Weight of the pass rate that is predicted from the model's ability. The prediction counts as
   * `rho` times `m` rollouts. For tasks that were explored, `rho` has no effect.
   * @default 0.2
   */
  readonly rho: number;
  /**
   * True to halve `rho` in each update in which the predicted pass rates are wrong by 0.25 or more
   * on average.
   * @default false
   */
  readonly adaptiveRho: boolean;
  /** Target pass rate. Tasks whose pass rate is close to it are selected first. @default 1 */
  readonly targetReward: number;
  /**
   * Temperature of the selection. At 0, the tasks closest to the target are always selected.
   * @default 1
   */
  readonly tau: number;
  /** True to draw pass rates from their distributions; false to use the means. @default false */
  readonly doSample: boolean;
}

/** Selects rows. If `state` is absent, the selection depends only on the position. */
export interface RowSelector {
  /** Returns the row numbers for `count` positions, starting at `cursor`. */
  select(cursor: number, count: number): readonly number[];
  feedback?(feedback: readonly RowFeedback[]): void;
  state?(): JsonState;
  restore?(state: JsonState): void;
}

interface Estimate {
  readonly alphas: Float64Array;
  readonly betas: Float64Array;
  /**
   * Ability of the model: 0 = like the weak reference model, 1 = like the strong reference model.
   * Undefined before the first observation.
   */
  ability: number | undefined;
  rho: number;
}

export interface DifficultyOptions {
  /** Pass rates of the weak and the strong reference model, per row. */
  readonly features: readonly (readonly [weak: number, strong: number])[];
  readonly args: DifficultyArgs;
  readonly seed: number;
  readonly name: string;
}

/**
 * Creates a selector. If there are at least `count` rows, the rows that one call returns are
 * distinct.
 */
export function difficultySelector({
  features,
  args,
  seed,
  name,
}: DifficultyOptions): Required<RowSelector> {
  const size = features.length;
  const estimate: Estimate = {
    alphas: new Float64Array(size).fill(1),
    betas: new Float64Array(size).fill(1),
    ability: undefined,
    rho: args.rho,
  };
  const streamOf = (part: string, cursor: number) =>
    createRandom(deriveSeed(seed, 'task-order', name, part, cursor));
  return {
    select: (cursor, count) => {
      const rows: number[] = [];
      const scores = scoresOf(estimate, args, streamOf('pass-rate', cursor));
      const order = chooseAll(scores, args.tau, streamOf('choice', cursor));
      while (rows.length < count) rows.push(...order.slice(0, count - rows.length));
      return rows;
    },
    feedback: (feedback) => update(estimate, feedback, features, args),
    state: () => ({
      alphas: encode(estimate.alphas),
      betas: encode(estimate.betas),
      ability: estimate.ability ?? null,
      rho: estimate.rho,
    }),
    restore: ({ alphas, betas, ability, rho }) => {
      estimate.alphas.set(decode(alphas, size));
      estimate.betas.set(decode(betas, size));
      estimate.ability = typeof ability === 'number' ? ability : undefined;
      estimate.rho = Number(rho);
    },
  };
}

/** Computes score = -|target - p|, where p is the mean of Beta(alpha, beta), or a sample of it. */
function scoresOf(
  { alphas, betas }: Estimate,
  { targetReward, doSample }: DifficultyArgs,
  random: ReturnType<typeof createRandom>,
): Float64Array {
  return alphas.map((alpha, row) => {
    const beta = betas[row] ?? 1;
    const passRate = doSample ? sampleBeta(alpha, beta, random) : alpha / (alpha + beta);
    return -Math.abs(targetReward - passRate);
  });
}

/**
 * Returns all rows in random order, as if sampled without replacement with probabilities
 * softmax(score / tau). For this, the rows are sorted by score / tau + Gumbel noise, largest first.
 */
function chooseAll(
  scores: Float64Array,
  tau: number,
  random: ReturnType<typeof createRandom>,
): readonly number[] {
  const keys =
    tau === 0 ? scores : scores.map((score) => score / tau - Math.log(-Math.log(uniform(random))));
  return Array.from(keys, (_, row) => row).sort((a, b) => (keys[b] ?? 0) - (keys[a] ?? 0) || a - b);
}

/** Draws a number between 0 and 1, both excluded. */
const uniform = (random: ReturnType<typeof createRandom>): number =>
  random.next() || Number.MIN_VALUE;

const abilityDiscount = 0.9;

/**
 * Updates alpha <- (1 - lamb) alpha + lamb + (1 - rho) m s + rho m p, and beta likewise with 1 - s
 * and 1 - p. For an observed task, s and p are the observed pass rate. For the other tasks, the
 * terms with s are 0, and p = weak + ability (strong - weak), limited to [0, 1].
 */
function update(
  estimate: Estimate,
  feedback: readonly RowFeedback[],
  features: DifficultyOptions['features'],
  { m, lamb, adaptiveRho }: DifficultyArgs,
): void {
  if (feedback.length === 0) return;
  const observed = new Map(feedback.map(({ row, value }) => [row, value]));
  const rows = [...observed.keys()];
  const weak = mean(rows.map((row) => features[row]?.[0] ?? 0));
  const strong = mean(rows.map((row) => features[row]?.[1] ?? 0));
  const measured = (mean([...observed.values()]) - weak) / (strong - weak + 1e-6);
  const ability =
    estimate.ability === undefined
      ? measured
      : abilityDiscount * estimate.ability + (1 - abilityDiscount) * measured;
  estimate.ability = ability;
  const predicted = features.map(([low, high]) =>
    Math.min(1, Math.max(0, (high - low) * ability + low)),
  );
  const error = mean(rows.map((row) => Math.abs((predicted[row] ?? 0) - (observed.get(row) ?? 0))));
  if (adaptiveRho && error >= 0.25) estimate.rho *= 0.5;
  const { alphas, betas, rho } = estimate;
  for (const [row, prediction] of predicted.entries()) {
    const value = observed.get(row);
    const p = value ?? prediction;
    const s = value === undefined ? 0 : m * value;
    const f = value === undefined ? 0 : m * (1 - value);
    alphas[row] = (1 - lamb) * (alphas[row] ?? 1) + lamb + (1 - rho) * s + rho * m * p;
    betas[row] = (1 - lamb) * (betas[row] ?? 1) + lamb + (1 - rho) * f + rho * m * (1 - p);
  }
}

/** Encodes numbers exactly, so that a resumed training run continues with the same bits. */
const encode = (values: Float64Array): string => Buffer.from(values.buffer).toString('base64');

function decode(text: unknown, size: number): Float64Array {
  const bytes = Buffer.from(String(text), 'base64');
  return Float64Array.from({ length: size }, (_, row) => bytes.readDoubleLE(row * 8));
}
