/** Trained tokens of a batch, some hundred at a time: what formulas over tokens read and write. */
import type { AlgorithmNeeds, LossInput } from '@trinity-rft/core';
import { blockSize, eachBlock } from './visit.js';

/**
 * Each array holds `size` numbers, one per token in order of the batch; what lies behind them means
 * nothing.
 */
export interface TokenBlock {
  size: number;
  /** Positions in the batch. */
  readonly at: Int32Array;
  /** Rows of the batch. */
  readonly row: Int32Array;
  /** x, log-probability by the weights being trained. */
  readonly current: Float64Array;
  /** d = x - o, o the log-probability at sampling; 0 where there are no rollouts. */
  readonly d: Float64Array;
  /** A */
  readonly advantage: Float64Array;
  /** a = f - x, f the log-probability by the reference. */
  readonly a: Float64Array;
  /** H, in nats. */
  readonly entropy: Float64Array;
  /**
   * For exponentials, which have loops of their own: a call of exp spills what the loop of a
   * formula keeps in registers.
   */
  readonly exp: Float64Array;
  /** l, written by the formula. */
  readonly value: Float64Array;
  /** dl/dx, written by the formula. */
  readonly gradient: Float64Array;
}

export function createBlock(): TokenBlock {
  const positions = (): Int32Array => new Int32Array(blockSize);
  const numbers = (): Float64Array => new Float64Array(blockSize);
  return {
    size: 0,
    at: positions(),
    row: positions(),
    current: numbers(),
    d: numbers(),
    advantage: numbers(),
    a: numbers(),
    entropy: numbers(),
    exp: numbers(),
    value: numbers(),
    gradient: numbers(),
  };
}

export interface PassOptions {
  /** What is read of the tokens. */
  readonly needs: Partial<AlgorithmNeeds>;
  /**
   * Called instead of a visit where a number that is needed is not finite.
   * @default visits all the same
   */
  readonly refuse?: (() => void) | undefined;
}

/**
 * Visits the trained tokens of a batch in order. There is one block, filled anew for every visit;
 * numbers that are not needed, and those that the batch lacks, stay 0. Where experts are told from
 * others, a block holds rows of one kind.
 */
export function forEachBlock(
  input: LossInput,
  { needs, refuse }: PassOptions,
  visit: (block: TokenBlock) => void,
): void {
  const block = createBlock();
  const kinds = needs.expertMask ? input.expertMask : undefined;
  let row = 0;
  eachBlock(input.actionMask.length, (from, to) => {
    for (let t = from; t < to;) {
      while (input.offsets[row + 1]! <= t) row++;
      t = readPositions(block, input, { from: t, to, row, kinds });
      if (block.size === 0) continue;
      const sum = readNumbers(block, input, needs);
      if (refuse && !Number.isFinite(sum)) refuse();
      else visit(block);
    }
  });
}

interface Span {
  readonly from: number;
  readonly to: number;
  /** Of the first token. */
  readonly row: number;
  readonly kinds: Uint8Array | undefined;
}

/** Where it stopped: at the end, or before the first row of another kind. */
function readPositions(
  block: TokenBlock,
  { offsets, actionMask }: LossInput,
  { from, to, row: first, kinds }: Span,
): number {
  const { at, row: rowOf } = block;
  let size = 0;
  let t = from;
  for (let row = first; t < to && kinds?.[row] === kinds?.[first]; row++) {
    const end = Math.min(offsets[row + 1]!, to);
    for (; t < end; t++) {
      at[size] = t;
      rowOf[size] = row;
      size += actionMask[t]!;
    }
  }
  block.size = size;
  return t;
}

/** Their sum, which is finite where all of them are: they are float32. */
function readNumbers(
  { size, at, current, d, advantage, a, entropy }: TokenBlock,
  input: LossInput,
  needs: Partial<AlgorithmNeeds>,
): number {
  const { currentLogprobs, oldLogprobs, advantages, refLogprobs, entropy: entropies } = input;
  let sum = 0;
  if (needs.rollouts) {
    for (let i = 0; i < size; i++) {
      const t = at[i]!;
      const x = currentLogprobs[t]!;
      current[i] = x;
      d[i] = x - oldLogprobs[t]!;
      advantage[i] = advantages[t]!;
      sum += x - oldLogprobs[t]! + advantages[t]!;
    }
  } else {
    for (let i = 0; i < size; i++) {
      const x = currentLogprobs[at[i]!]!;
      current[i] = x;
      sum += x;
    }
  }
  if (needs.referenceLogprobs && refLogprobs) {
    for (let i = 0; i < size; i++) {
      const distance = refLogprobs[at[i]!]! - current[i]!;
      a[i] = distance;
      sum += distance;
    }
  }
  if (needs.entropy !== 'none' && entropies) {
    for (let i = 0; i < size; i++) {
      const H = entropies[at[i]!]!;
      entropy[i] = H;
      sum += H;
    }
  }
  return sum;
}
