/**
 * Reflective search for better texts, after GEPA (https://arxiv.org/abs/2507.19457). A candidate
 * from the Pareto front runs on a few rows, and a model rewrites one of its texts in view of
 * responses and feedback. A new candidate that does better on the same rows is kept, and then runs
 * on all selection rows.
 */
import { mean, type Random, type RawTask, type Runtime } from '@trinity-rft/core';
import type { PlayRows } from './play-rows.js';
import { proposeText, type Proposer } from './propose-prompt.js';
import { meanReward, saveState, type Candidate, type SearchState } from './search-state.js';

export interface SearchOptions {
  readonly rows: readonly RawTask[];
  /** Indices of the rows for comparing candidates. */
  readonly selection: readonly number[];
  /** Indices of the rows that the proposer sees. */
  readonly feedback: readonly number[];
  readonly play: PlayRows;
  readonly proposer: Proposer;
  /** Maximum number of agent runs. */
  readonly maxCalls: number;
  readonly batchSize: number;
  /** Reward at which a row needs no improvement. */
  readonly perfectReward: number;
  readonly folder: string | undefined;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

/** The search ends after this many consecutive attempts without a better candidate. */
const mostFruitless = 20;

/** Returns the index of the best candidate. Saves `state` after each attempt. */
export async function search(state: SearchState, options: SearchOptions): Promise<number> {
  const { selection, maxCalls, folder, runtime } = options;
  await ensurePlayed(state, 0, selection, options);
  while (state.fruitless < mostFruitless) {
    const random = runtime.random('prompt', state.attempts);
    const parent = chooseParent(state.candidates, selection, random);
    const rows = chooseRows(state.candidates[parent]!, options, random);
    const missing = rows.filter((row) => !state.candidates[parent]!.played[row]).length;
    // The sum is the number of agent runs after a successful attempt. If the budget is smaller, the
    // remaining budget stays unused.
    if (rows.length === 0 || state.calls + missing + rows.length + selection.length > maxCalls)
      break;
    const isBetter = await improve(state, parent, rows, options);
    state.attempts++;
    state.fruitless = isBetter ? 0 : state.fruitless + 1;
    saveState(folder, state);
    const best = meanReward(state.candidates[bestOf(state, selection)]!, selection);
    runtime.logger.info(
      `Attempt ${state.attempts}: ${isBetter ? 'kept' : 'not better'}; best mean reward ${best.toFixed(3)}, ${state.calls} runs`,
    );
  }
  return bestOf(state, selection);
}

/**
 * Returns the index of the candidate with the highest mean over the selection rows; the earliest of
 * several equal candidates. A candidate without a reward ranks last.
 */
function bestOf({ candidates }: SearchState, selection: readonly number[]): number {
  const means = candidates.map((candidate) => {
    const value = meanReward(candidate, selection);
    return Number.isNaN(value) ? -Infinity : value;
  });
  return means.reduce((best, value, i) => (value > means[best]! ? i : best), 0);
}

/**
 * Draws a candidate with a probability proportional to the number of selection rows on which the
 * candidate has the highest reward.
 */
function chooseParent(
  candidates: readonly Candidate[],
  selection: readonly number[],
  random: Random,
): number {
  const leads = candidates.map(() => 0);
  for (const row of selection) {
    const rewards = candidates.map(({ played }) => played[row]?.reward ?? -Infinity);
    const highest = Math.max(...rewards);
    rewards.forEach((reward, i) => {
      if (reward === highest) leads[i]! += 1;
    });
  }
  let left = random.next() * leads.reduce((sum, lead) => sum + lead, 0);
  const chosen = leads.findIndex((lead) => (left -= lead) < 0);
  return Math.max(0, chosen);
}

/**
 * Draws feedback rows, first those without a perfect reward, then rows that were not played yet.
 */
function chooseRows(
  { played }: Candidate,
  { feedback, batchSize, perfectReward }: SearchOptions,
  random: Random,
): readonly number[] {
  const order = random.shuffle(feedback);
  const isImperfect = (row: number): boolean => {
    const reward = played[row]?.reward;
    return reward !== undefined && reward < perfectReward;
  };
  const known = order.filter((row) => isImperfect(row));
  return [...known, ...order.filter((row) => played[row] === undefined)].slice(0, batchSize);
}

/**
 * Rewrites a text of candidate `parent`. If the new candidate is better, adds it and returns true.
 */
async function improve(
  state: SearchState,
  parent: number,
  rows: readonly number[],
  options: SearchOptions,
): Promise<boolean> {
  const { proposer, signal, perfectReward } = options;
  await ensurePlayed(state, parent, rows, options);
  const { components, played } = state.candidates[parent]!;
  const seen = rows.map((row) => played[row]!);
  if (seen.every(({ reward = perfectReward }) => reward >= perfectReward)) return false;
  const names = Object.keys(components);
  const component = names[state.attempts % names.length]!;
  const text = await proposeText(proposer, { components, component, played: seen, signal });
  const child: Candidate = { components: { ...components, [component]: text }, parent, played: {} };
  if (state.candidates.some((other) => sameTexts(other, child))) return false;
  const at = state.candidates.push(child) - 1;
  try {
    await ensurePlayed(state, at, rows, options);
    if (!isBetterOn(rows, child, state.candidates[parent]!)) {
      state.candidates.pop();
      return false;
    }
    await ensurePlayed(state, at, options.selection, options);
    return true;
  } catch (error) {
    state.candidates.splice(at);
    throw error;
  }
}

const sameTexts = (a: Candidate, b: Candidate): boolean =>
  JSON.stringify(a.components) === JSON.stringify(b.components);

/**
 * Returns true if `child` has the higher mean reward over the rows on which neither candidate
 * failed.
 */
function isBetterOn(rows: readonly number[], child: Candidate, parent: Candidate): boolean {
  const gains = rows.flatMap((row) => {
    const [after, before] = [child.played[row]?.reward, parent.played[row]?.reward];
    return after === undefined || before === undefined ? [] : [after - before];
  });
  return gains.length > 0 && mean(gains) > 0;
}

/**
 * Runs candidate `at` on the given rows that it has no rewards for. Rows that failed before run one
 * by one, because the player throws if several rows fail together.
 */
async function ensurePlayed(
  state: SearchState,
  at: number,
  rows: readonly number[],
  options: SearchOptions,
): Promise<void> {
  const { components, played } = state.candidates[at]!;
  const failed = rows.filter((row) => played[row] && played[row].reward === undefined);
  const batches = [rows.filter((row) => !played[row]), ...failed.map((row) => [row])];
  const play = async (batch: readonly number[]): Promise<void> => {
    const results = await options.play(
      components,
      batch.map((row) => options.rows[row]!),
    );
    results.forEach((result, i) => (played[batch[i]!] = result));
    state.calls += batch.length;
  };
  await Promise.all(batches.map(play));
}
