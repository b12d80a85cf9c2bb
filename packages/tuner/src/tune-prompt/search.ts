/**
 * Reflective search for better texts, based on GEPA (https://arxiv.org/abs/2507.19457). Each
 * attempt takes a candidate from the Pareto front and runs it on a few rows. The proposer, a model,
 * rewrites one of its texts based on responses and feedback. If the new candidate does better on
 * these rows, it runs on all selection rows. It is kept unless most of them fail.
 */
import { ConfigError, mean, type Random, type RawTask, type Runtime } from '@trinity-rft/core';
import { waitingFor } from '@trinity-rft/core/support';
import { allEnded, endedOrAborted, timedCall } from '../candidates/all-ended.js';
import { isRowsFailed, type Played, type PlayRows } from './play-rows.js';
import { proposeText, type Proposer } from './propose-prompt.js';
import {
  meanReward,
  pairedRewards,
  saveState,
  type Attempt,
  type Candidate,
  type SearchState,
} from './search-state.js';

export interface SearchOptions {
  readonly rows: readonly RawTask[];
  /** Indices of the rows on which candidates are compared. */
  readonly selection: readonly number[];
  /** Indices of the rows that the proposer may see. */
  readonly feedback: readonly number[];
  readonly play: PlayRows;
  readonly proposer: Proposer;
  /** Maximum number of times that the agent is run. */
  readonly maxCalls: number;
  readonly batchSize: number;
  /** Highest reward that matters: rows that reach it need no improvement. */
  readonly perfectReward: number;
  readonly folder: string | undefined;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

/** Number of consecutive attempts without improvement after which the search ends. */
const mostFruitless = 20;

/**
 * Searches for better texts, and returns the index of the best candidate. Saves `state` after each
 * batch of agent runs, after each attempt, and when interrupted, so that no agent run or proposal
 * is repeated. If the remaining budget is too small for an attempt to succeed, it stays unused.
 * @throws ConfigError if the whole budget is too small for one attempt
 */
export async function search(state: SearchState, options: SearchOptions): Promise<number> {
  const { selection, maxCalls, folder, runtime } = options;
  if (state.calls === 0) checkBudget(options);
  try {
    await ensurePlayed(state, state.candidates[0]!, selection, options);
    while (state.fruitless < mostFruitless) {
      state.current ??= nextAttempt(state, options);
      if (!state.current || state.calls + runsLeft(state, state.current, selection) > maxCalls)
        break;
      const better = await improve(state, state.current, options);
      if (better) state.candidates.push(better);
      state.current = undefined;
      state.attempts++;
      state.fruitless = better ? 0 : state.fruitless + 1;
      saveState(folder, state);
      const best = meanReward(state.candidates[bestOf(state, selection)]!, selection);
      runtime.logger.info(
        `Attempt ${state.attempts}: ${better ? 'kept' : 'not better'}; best mean reward ${best.toFixed(3)}, ${state.calls} runs`,
      );
    }
  } finally {
    saveState(folder, state);
  }
  return bestOf(state, selection);
}

/** @throws ConfigError if `maxCalls` is too small for one attempt */
function checkBudget({ selection, feedback, batchSize, maxCalls }: SearchOptions): void {
  const batch = feedback === selection ? 0 : Math.min(batchSize, feedback.length);
  const least = 2 * (selection.length + batch);
  if (maxCalls < least)
    throw new ConfigError(
      `PromptTuneConfig: maxCalls is ${maxCalls}; expected at least ${least}, with which one attempt can succeed. Raise it or optimizationLevel, or lower batchSize.`,
      { code: 'PROMPT_BUDGET' },
    );
}

/**
 * Chooses a candidate to improve and the feedback rows to use. Returns undefined if the candidate
 * has no rows left that could help to improve it.
 */
function nextAttempt(state: SearchState, options: SearchOptions): Attempt | undefined {
  const { selection, runtime } = options;
  const random = runtime.random('prompt', state.attempts);
  const parent = chooseParent(state.candidates, selection, random);
  const rows = chooseRows(state.candidates[parent]!, options, random);
  return rows.length === 0 ? undefined : { parent, rows };
}

/** Returns how many more agent runs an attempt needs if it succeeds. */
function runsLeft(
  { candidates }: SearchState,
  { parent, rows, child }: Attempt,
  selection: readonly number[],
): number {
  const missing = (played: Candidate['played'], of: readonly number[]): number =>
    of.filter((row) => played[row]?.reward === undefined).length;
  const own = child?.played ?? {};
  const ofChild = [...new Set([...rows, ...selection])];
  return missing(candidates[parent]!.played, rows) + missing(own, ofChild);
}

/**
 * Returns the index of the candidate with the largest mean gain in reward over the initial
 * candidate on the selection rows; if several are equal, the earliest. If the initial candidate
 * failed on most rows, gains are relative to the first candidate that did not.
 */
function bestOf({ candidates }: SearchState, selection: readonly number[]): number {
  const first = candidates.findIndex((candidate) => mostlySucceeds(candidate, selection));
  if (first === -1) return 0;
  const gains = candidates.map((candidate) => gainOn(selection, candidate, candidates[first]!));
  return gains.reduce((best, gain, i) => (gain > gains[best]! ? i : best), first);
}

const mostlySucceeds = (candidate: Candidate, rows: readonly number[]): boolean =>
  2 * pairedRewards(candidate, candidate, rows).length >= rows.length;

/**
 * Draws a candidate at random. Its probability is proportional to the number of selection rows on
 * which no other candidate has a higher reward.
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
 * Draws feedback rows for a candidate. Rows on which it earned less than the perfect reward come
 * first, then rows on which it has not run.
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
 * Rewrites a text of a candidate. Returns the new candidate if it is better, otherwise undefined.
 */
async function improve(
  state: SearchState,
  attempt: Attempt,
  options: SearchOptions,
): Promise<Candidate | undefined> {
  const { rows } = attempt;
  const { selection } = options;
  const parent = state.candidates[attempt.parent]!;
  await ensurePlayed(state, parent, rows, options);
  const child = (attempt.child ??= await proposeChild(state, attempt, options));
  if (!child || state.candidates.some((other) => sameTexts(other, child))) return undefined;
  try {
    await ensurePlayed(state, child, rows, options);
    if (!(gainOn(rows, child, parent) > 0)) return undefined;
    await ensurePlayed(state, child, selection, options);
    return mostlySucceeds(child, selection) ? child : undefined;
  } catch (error) {
    if (!isRowsFailed(error)) throw error;
    const failed = [rows, selection].map((some) => some.filter((row) => !child.played[row]));
    state.calls += failed.find(({ length }) => length > 0)?.length ?? 0;
    delete attempt.child;
    if (state.calls < options.maxCalls && !(await stillWorks(state, attempt, options))) throw error;
    return undefined;
  }
}

/**
 * Runs the unchanged candidate again on a row, and returns true if it succeeds. If so, failures of
 * the rewritten candidate are caused by its new text, not by the user's functions or their
 * services.
 */
async function stillWorks(
  state: SearchState,
  { parent, rows }: Attempt,
  { play, rows: all }: SearchOptions,
): Promise<boolean> {
  const { components, played } = state.candidates[parent]!;
  const row = rows.find((index) => played[index]?.reward !== undefined) ?? rows[0]!;
  const [again] = await play(components, [all[row]!]);
  state.calls++;
  return again?.reward !== undefined;
}

/**
 * Asks the proposer for a new text. Returns undefined if all rows already have the perfect reward.
 */
async function proposeChild(
  state: SearchState,
  { parent, rows }: Attempt,
  { proposer, signal, perfectReward, runtime: { clock, logger } }: SearchOptions,
): Promise<Candidate | undefined> {
  const { components, played } = state.candidates[parent]!;
  const seen = rows.map((row) => played[row]!);
  if (seen.every(({ reward = perfectReward }) => reward >= perfectReward)) return undefined;
  const names = Object.keys(components);
  const component = names[state.attempts % names.length]!;
  const proposal = timedCall('the proposer', { signal, clock }, (ended) =>
    proposeText(proposer, { components, component, played: seen, signal: ended }),
  );
  const wait = { what: 'the proposer', cause: () => undefined };
  const [text] = await waitingFor({ clock, logger }, wait, () =>
    allEnded([proposal], { signal, clock }),
  );
  return { components: { ...components, [component]: text! }, parent, played: {} };
}

const sameTexts = (a: Candidate, b: Candidate): boolean =>
  JSON.stringify(a.components) === JSON.stringify(b.components);

/**
 * Returns the mean gain in reward of `child` over `parent`, on the rows on which neither failed.
 * Returns -Infinity if these are less than half of all rows.
 */
function gainOn(rows: readonly number[], child: Candidate, parent: Candidate): number {
  const gains = pairedRewards(parent, child, rows).map(([before, after]) => after - before);
  return 2 * gains.length >= rows.length ? mean(gains) : -Infinity;
}

/**
 * Runs a candidate on those of the given rows for which it has no reward, and saves the state. On
 * an abort, the state is saved before waiting for the runs in progress. Rows that failed in an
 * earlier run are run in separate calls, because a call throws if several rows fail together.
 */
async function ensurePlayed(
  state: SearchState,
  { components, played }: Candidate,
  rows: readonly number[],
  options: SearchOptions,
): Promise<void> {
  const failed = rows.filter((row) => played[row] && played[row].reward === undefined);
  const batches = [rows.filter((row) => !played[row]), ...failed.map((row) => [row])];
  const play = async (batch: readonly number[]): Promise<void> => {
    const record = (result: Played, i: number): void => {
      played[batch[i]!] = result;
      state.calls++;
    };
    const tasks = batch.map((row) => options.rows[row]!);
    const results = await options.play(components, tasks, record);
    results.forEach((result, i) => {
      if (result.reward === undefined) record(result, i);
    });
  };
  const { signal, runtime, folder } = options;
  const plays = batches.map(play);
  await endedOrAborted(plays, signal);
  saveState(folder, state);
  await allEnded(plays, { signal, clock: runtime.clock });
}
