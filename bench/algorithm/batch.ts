/** One train batch of a million tokens, as experiences and as packed arrays. */
import { type Experience, type LossInput, createRandom } from '../../packages/core/src/index.ts';
import type { AdvantageInput } from '../../packages/core/src/internal.ts';

export interface Batch {
  readonly experiences: readonly Experience[];
  readonly advantageInput: AdvantageInput;
  readonly lossInput: LossInput;
}

export interface BatchShape {
  readonly tasks: number;
  /** Number of runs of each task. */
  readonly runs: number;
  /** Number of response tokens of each run. */
  readonly length: number;
}

/**
 * Creates the batch. Log-ratios are as small as in training: at most 0.05 for most tokens, at most 1
 * for every sixteenth. One contiguous sixteenth of each row is masked, like the output of a tool.
 */
export function createBatch({ tasks, runs, length }: BatchShape): Batch {
  const random = createRandom(1);
  const rows = tasks * runs;
  const size = rows * length;
  const fill = (make: (t: number) => number): Float32Array => {
    const values = new Float32Array(size);
    for (let t = 0; t < size; t++) values[t] = make(t);
    return values;
  };
  const offsets = Int32Array.from({ length: rows + 1 }, (_, row) => row * length);
  const actionMask = Uint8Array.from({ length: size }, (_, t) =>
    t % length >= length / 2 && t % length < (length * 9) / 16 ? 0 : 1,
  );
  const oldLogprobs = fill(() => -4 * random.next() ** 2);
  const near = (): Float32Array =>
    fill((t) =>
      Math.min(oldLogprobs[t]! + (random.next() - 0.5) * (random.next() < 1 / 16 ? 2 : 0.1), 0),
    );
  const rewardOf = Float32Array.from({ length: rows }, () => Math.round(random.next() * 4) / 4);
  const shared = {
    offsets,
    actionMask,
    oldLogprobs,
    refLogprobs: near(),
    entropy: fill(() => 2 * random.next()),
  };
  const teacherLogprobs = near();
  return {
    experiences: Array.from({ length: rows }, (_, row) =>
      toExperience(row, runs, { ...shared, teacherLogprobs }, rewardOf[row]!),
    ),
    advantageInput: {
      ...shared,
      rewards: fill((t) => (t % length === length - 1 ? rewardOf[Math.floor(t / length)]! : 0)),
      tasks: Int32Array.from({ length: rows }, (_, row) => Math.floor(row / runs)),
      values: fill(() => random.next()),
      teacherLogprobs,
    },
    lossInput: {
      ...shared,
      currentLogprobs: near(),
      advantages: fill((t) => actionMask[t]! * (rewardOf[Math.floor(t / length)]! - 0.45)),
      expertMask: Uint8Array.from({ length: rows }, (_, row) => (row % 4 === 3 ? 1 : 0)),
      step: 1,
    },
  };
}

interface TokenArrays {
  readonly offsets: Int32Array;
  readonly actionMask: Uint8Array;
  readonly oldLogprobs: Float32Array;
  readonly teacherLogprobs: Float32Array;
}

function toExperience(row: number, runs: number, arrays: TokenArrays, reward: number): Experience {
  const [start, end] = [arrays.offsets[row]!, arrays.offsets[row + 1]!];
  return {
    eid: { batch: 0, task: Math.floor(row / runs), run: row % runs, step: 0, suffix: '' },
    tokens: new Int32Array(end - start + 1),
    promptLength: 1,
    actionMask: arrays.actionMask.subarray(start, end),
    logprobs: arrays.oldLogprobs.subarray(start, end),
    teacherLogprobs: arrays.teacherLogprobs.subarray(start, end),
    policyVersion: 0,
    temperature: 1,
    reward,
    metrics: {},
    info: {},
  };
}
