/**
 * Computes log-probabilities of sequences with the sampler's weights. Rows of calls that arrive
 * together share graph executions.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

import { ModelError, TrinityError, InvariantError } from '@trinity-rft/core';
import type { ForwardPass, TokenBatch, TokenRow } from '@trinity-rft/core/engine';

import type { ModelConfig } from '../model/config.js';
import type { ArraySet } from '../runtime/graph-runtime.js';
import { checkedRows, responseOffsets } from '../train/rows.js';
import { notFinite } from './decode.js';
import { assertRoom, type SampleLimits } from './plan.js';
import type { SamplingWeights } from './scheduler.js';

export interface ScorerOptions {
  /**
   * Computes log-probabilities of all rows with the given weights. The result of a row does not
   * depend on the other rows.
   */
  readonly read: (
    batch: TokenBatch,
    set: ArraySet,
  ) => Promise<Pick<ForwardPass, 'offsets' | 'logprobs'>>;
  /** Maximum number of rows in a batch. */
  readonly maxRows: number;
}

/** The part of {@link SamplingWeights} that a scorer needs. */
export type ScoringWeights = Pick<SamplingWeights, 'set' | 'version' | 'release'>;

export interface ScoreTicket {
  /** Log-probabilities of the response. [R] */
  readonly result: Promise<Float32Array>;
  /** Rejects the result with `error`. If the row's batch has not started, the row is not scored. */
  cancel(error: TrinityError): void;
}

interface Entry {
  readonly row: TokenRow;
  readonly weights: ScoringWeights;
  settled: boolean;
  settle(outcome: Float32Array | TrinityError): void;
}

type Group = readonly [Entry, ...Entry[]];
const isGroup = (entries: readonly Entry[]): entries is Group => entries.length > 0;

export class Scorer {
  readonly #options: ScorerOptions;
  #queue: Entry[] = [];
  #loop: Promise<void> | undefined;
  #closed: TrinityError | undefined;

  constructor(options: ScorerOptions) {
    this.#options = options;
  }

  /**
   * Adds a row to score.
   * @param weights lease that is released when the row is scored or cancelled
   */
  submit(row: TokenRow, weights: ScoringWeights): ScoreTicket {
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array>();
    const entry: Entry = {
      row,
      weights,
      settled: false,
      settle: (outcome) => {
        if (entry.settled) return;
        entry.settled = true;
        weights.release();
        if (outcome instanceof Float32Array) resolve(outcome);
        else reject(outcome);
      },
    };
    if (this.#closed !== undefined) entry.settle(this.#closed);
    else this.#queue.push(entry);
    this.#loop ??= this.#run();
    return { result: promise, cancel: (error) => entry.settle(error) };
  }

  /** Rejects waiting rows and later calls with `error`. Resolves when no batch is in progress. */
  async close(error: TrinityError): Promise<void> {
    this.#closed ??= error;
    for (const entry of this.#queue.splice(0)) entry.settle(error);
    await this.#loop;
  }

  async #run(): Promise<void> {
    // Rows that were sent together arrive within one turn of the event loop and should share graph
    // executions.
    await nextTurn();
    for (let group = this.#next(); isGroup(group); group = this.#next()) await this.#score(group);
    this.#loop = undefined;
  }

  /** Removes from the queue the next waiting rows that use the same weights, and returns them. */
  #next(): readonly Entry[] {
    this.#queue = this.#queue.filter((entry) => !entry.settled);
    const set = this.#queue[0]?.weights.set;
    const other = this.#queue.findIndex((entry) => entry.weights.set !== set);
    return this.#queue.splice(0, Math.min(other < 0 ? Infinity : other, this.#options.maxRows));
  }

  async #score(group: Group): Promise<void> {
    const [{ weights }] = group;
    try {
      const { offsets, logprobs } = await this.#options.read(
        { rows: group.map(({ row }) => row) },
        weights.set,
      );
      for (const [i, entry] of group.entries()) {
        const own = logprobs.slice(offsets[i], offsets[i + 1]);
        entry.settle(
          own.every(Number.isFinite) ? own : notFinite('Scoring with', entry.weights.version),
        );
      }
    } catch (cause) {
      const error = TrinityError.is(cause)
        ? cause
        : new InvariantError('The scorer failed; this is a bug, please report it.', { cause });
      for (const entry of group) entry.settle(error);
    }
  }
}

/**
 * Checks that a row can be scored.
 * @throws ModelError 400 when it cannot
 */
export function checkScore(
  row: TokenRow,
  config: ModelConfig,
  limits: Pick<SampleLimits, 'maxModelLen'>,
): void {
  const { maxModelLen } = limits;
  assertRoom(row.promptLength, limits);
  if (row.tokens.length > maxModelLen) {
    throw new ModelError(
      `The row to score has ${row.tokens.length} tokens, prompt and response together; expected at ` +
        `most ${maxModelLen}. Raise max_model_len if the model was made for more.`,
      {
        status: 400,
        code: 'context_length_exceeded',
        details: { promptLength: row.promptLength, maxModelLen },
      },
    );
  }
  const batch = { rows: [row] };
  try {
    checkedRows(batch, responseOffsets(batch), config);
  } catch (cause) {
    throw new ModelError(`A row cannot be scored. ${(cause as Error).message}`, {
      status: 400,
      code: 'invalid_row',
      cause,
    });
  }
}
