/** State of a prompt search in one file. An interrupted search continues from this file. */
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, mean } from '@trinity-rft/core';
import { replaceFileSync, tryJson } from '@trinity-rft/core/support';
import type { Components, Played } from './play-rows.js';

export interface Candidate {
  readonly components: Components;
  /** Index of the candidate that this one was derived from; undefined for the first candidate. */
  readonly parent?: number;
  /** Results, keyed by the index of the row. */
  readonly played: Record<number, Played>;
}

/** An attempt to improve a candidate. */
export interface Attempt {
  /** Index of the candidate. */
  readonly parent: number;
  /** Indices of the feedback rows. */
  readonly rows: readonly number[];
  /** Candidate with the proposed text; undefined before the proposer has answered. */
  child?: Candidate;
}

export interface SearchState {
  /** Digest of the initial texts, the rows, the seed, the batch size and the perfect reward. */
  readonly digest: string;
  /** Number of attempts to improve a candidate. */
  attempts: number;
  /** Number of attempts since the last one that found a better candidate. */
  fruitless: number;
  /** Number of agent runs. */
  calls: number;
  readonly candidates: Candidate[];
  /** The attempt in progress, or the next attempt if the remaining budget is too small for it. */
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

/** Saves the state. Does nothing before the first agent run, so that the texts may still change. */
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

/** Returns the mean reward over those of the given rows that have a reward, or NaN if none has. */
export const meanReward = (candidate: Candidate, rows: readonly number[]): number =>
  mean(rows.flatMap((row) => candidate.played[row]?.reward ?? []));

/**
 * Returns the reward pairs of two candidates on those of the given rows for which both have a
 * reward.
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
