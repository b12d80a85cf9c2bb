/**
 * State of a prompt search, which is saved in one file. An interrupted search continues from this
 * file.
 */
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, mean } from '@trinity-rft/core';
import { replaceFileSync, tryJson } from '@trinity-rft/core/support';
import type { Components, Played } from './play-rows.js';

export interface Candidate {
  readonly components: Components;
  /**
   * Index of the candidate whose texts were rewritten to create this one; undefined for the initial
   * candidate.
   */
  readonly parent?: number;
  /** Results of running the candidate, keyed by the index of the row. */
  readonly played: Record<number, Played>;
}

/** An attempt to improve a candidate by rewriting one of its texts. */
export interface Attempt {
  /** Index of the candidate to improve. */
  readonly parent: number;
  /** Indices of the rows whose results the proposer sees. */
  readonly rows: readonly number[];
  /** Candidate with the new text; undefined until the proposer has written it. */
  child?: Candidate;
}

export interface SearchState {
  /**
   * Digest of the settings that identify the search: initial texts, rows, seed, batch size and
   * perfect reward.
   */
  readonly digest: string;
  /** Number of completed attempts to improve a candidate. */
  attempts: number;
  /** Number of attempts since the last one that improved a candidate. */
  fruitless: number;
  /** Number of times that the agent was run. */
  calls: number;
  readonly candidates: Candidate[];
  /**
   * The attempt in progress. If the remaining budget is too small for another attempt, this is the
   * attempt that would come next.
   */
  current?: Attempt | undefined;
}

const fileName = 'prompt-search.json';

export const digestOf = (inputs: unknown): string => hash('sha256', JSON.stringify(inputs), 'hex');

/**
 * Returns the state saved in `folder` by an earlier call, otherwise a new state.
 * @throws ConfigError if the saved state is damaged or belongs to another search
 */
export function openState(
  folder: string | undefined,
  digest: string,
  components: Components,
): SearchState {
  const first = { components, played: {} };
  const fresh = { digest, attempts: 0, fruitless: 0, calls: 0, candidates: [first] };
  const text = folder === undefined ? undefined : readText(path.join(folder, fileName));
  if (folder === undefined || text === undefined) return fresh;
  const refuse = (what: string): ConfigError =>
    new ConfigError(
      `${path.join(folder, fileName)} ${what}. Name another directory, or delete it.`,
      {
        code: 'PROMPT_SEARCH_OTHER',
      },
    );
  const state = parsed(text);
  if (state === undefined) throw refuse('is damaged');
  if (state.digest !== digest) throw refuse('is of a search with other texts, rows or settings');
  return state;
}

export function saveJson(folder: string, name: string, value: unknown): void {
  mkdirSync(folder, { recursive: true });
  replaceFileSync(path.join(folder, name), `${JSON.stringify(value, null, 1)}\n`);
}

/**
 * Saves the state. Does nothing if the agent was never run, so that a later call may still change
 * the initial texts.
 */
export const saveState = (folder: string | undefined, state: SearchState): void => {
  if (folder !== undefined && state.calls > 0) saveJson(folder, fileName, state);
};

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parsed(text: string): SearchState | undefined {
  const state = tryJson(text) as Partial<SearchState> | null | undefined;
  return Array.isArray(state?.candidates) ? (state as SearchState) : undefined;
}

/**
 * Returns a candidate's mean reward over the given rows, without those that have no reward. NaN if
 * no row has a reward.
 */
export const meanReward = (candidate: Candidate, rows: readonly number[]): number =>
  mean(rows.flatMap((row) => candidate.played[row]?.reward ?? []));

/**
 * Returns pairs of rewards of two candidates: one pair for each of the given rows on which both
 * have a reward.
 */
export const pairedRewards = (
  first: Pick<Candidate, 'played'>,
  second: Pick<Candidate, 'played'>,
  rows: readonly number[],
): (readonly [number, number])[] =>
  rows.flatMap((row) => {
    const [one, other] = [first.played[row]?.reward, second.played[row]?.reward];
    return one === undefined || other === undefined ? [] : [[one, other] as const];
  });
