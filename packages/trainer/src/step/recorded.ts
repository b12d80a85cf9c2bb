/**
 * Uses the log-probabilities that the sampler recorded instead of a forward pass, if a forward pass
 * would compute the same values.
 */
import {
  type AlgorithmNeeds,
  type Experience,
  EngineError,
  responseLength,
  uid,
} from '@trinity-rft/core';
import type { TrainEngine, ForwardPass } from '@trinity-rft/core/engine';
import type { PackedBatch } from './pack.js';

export interface RecordedOptions {
  readonly engine: TrainEngine;
  readonly needs: AlgorithmNeeds;
  /** Train step, from 1. */
  readonly step: number;
}

/**
 * A forward pass of which only some rows were computed. The values of the other rows were recorded
 * by the sampler.
 */
export interface RecordedPass {
  readonly pass: ForwardPass;
  /** 1 for each response token whose log-probability was computed, in the engine layout. [N] */
  readonly computed: Float32Array;
}

/**
 * One in this many rows is checked: its log-probabilities are computed and compared with the
 * recorded ones. The train step determines which rows are checked.
 */
const checkedEvery = 16;
/**
 * Largest allowed difference between recorded and computed log-probabilities, in nats. Sampler and
 * trainer of the embedded engine agree to 1e-5, even if their kernels sum in different order.
 */
const tolerance = 1e-4;

/**
 * Builds the forward pass of a batch from the log-probabilities that the engine's sampler recorded.
 * Resolves with undefined if these may differ from what the engine would compute, or if the
 * algorithm uses `necs`, or entropies other than as a metric. Computes a sample of the rows, and
 * compares it with the recorded log-probabilities. If entropy is only a metric, computes it for
 * this sample, and sets the entropy of other rows to the mean of the sample.
 * @throws EngineError naming an experience whose log-probabilities differ
 */
export async function recordedPass(
  batch: PackedBatch,
  { engine, needs, step }: RecordedOptions,
): Promise<RecordedPass | undefined> {
  const readsPass = needs.necs || needs.entropy === 'value' || needs.entropy === 'gradient';
  if (readsPass || !isOwn(batch, engine)) return undefined;
  const rows = rowsOf(batch);
  const checked = sampleOf(rows, step);
  const found = await engine.forward(
    { rows: checked.flatMap(({ index }) => batch.tokens.rows[index] ?? []) },
    { entropy: needs.entropy === 'metric' },
  );
  const offsets = Int32Array.from([0, ...rows.map(({ end }) => end)]);
  const logprobs = new Float32Array(offsets.at(-1) ?? 0);
  const computed = new Float32Array(logprobs.length);
  const entropy = found.entropy && spread(found.entropy, { rows, sample: checked });
  for (const { experience, start } of rows) logprobs.set(experience.logprobs, start);
  for (const [i, row] of checked.entries()) {
    const [from, to] = [found.offsets[i], found.offsets[i + 1]];
    assertSame(row.experience, found.logprobs.subarray(from, to));
    logprobs.set(found.logprobs.subarray(from, to), row.start);
    computed.fill(1, row.start, row.end);
  }
  return { pass: { batch: batch.tokens, offsets, logprobs, entropy }, computed };
}

/**
 * Replaces the entropies of a pass over all rows by those that {@link recordedPass} would return,
 * if entropy is only a metric and the engine can use recorded log-probabilities. A training run
 * therefore reports the same metrics whether or not it uses recorded log-probabilities.
 */
export function sampledEntropy(
  batch: PackedBatch,
  { entropy }: ForwardPass,
  { engine, needs, step }: RecordedOptions,
): Float32Array | undefined {
  if (!entropy || !engine.hasExactLogprobs || needs.entropy !== 'metric') return entropy;
  const rows = rowsOf(batch);
  const sample = sampleOf(rows, step);
  const found = sample.flatMap(({ start, end }) => [...entropy.subarray(start, end)]);
  return spread(Float32Array.from(found), { rows, sample });
}

/** A row of the engine's token batch. */
interface Row {
  readonly index: number;
  readonly experience: Experience;
  /** Index of the row's first response token in the engine layout. */
  readonly start: number;
  readonly end: number;
}

function rowsOf({ experiences }: PackedBatch): readonly Row[] {
  let end = 0;
  return experiences.map((experience, index) => {
    const start = end;
    end += responseLength(experience);
    return { index, experience, start, end };
  });
}

function sampleOf(rows: readonly Row[], step: number): readonly Row[] {
  const trained = rows.filter(({ experience }) => experience.actionMask.includes(1));
  const every = Math.min(checkedEvery, trained.length);
  return trained.filter((_, i) => i % every === step % every);
}

/**
 * Returns true if every trained token was sampled by the engine's own sampler, from the weights
 * that are being trained.
 */
function isOwn({ calls }: PackedBatch, engine: TrainEngine): boolean {
  return calls.every(({ experience, span: { start, end, policyVersion } }) => {
    const { tokens, promptLength, actionMask } = experience;
    return (
      !actionMask.subarray(start, end).includes(1) ||
      engine.hasExactLogprobs?.(tokens.subarray(0, promptLength + end), policyVersion)
    );
  });
}

/**
 * Extends per-token values of a sample of rows to all rows. Rows of the sample keep their values.
 * All other rows get the mean over the trained tokens of the sample. [N]
 */
function spread(
  numbers: Float32Array,
  { rows, sample }: { readonly rows: readonly Row[]; readonly sample: readonly Row[] },
): Float32Array {
  const all = new Float32Array(rows.at(-1)?.end ?? 0).fill(meanOf(numbers, sample));
  let at = 0;
  for (const { start, end } of sample) all.set(numbers.subarray(at, (at += end - start)), start);
  return all;
}

/**
 * Returns the mean of `numbers` over the trained tokens of `rows`. `numbers` must have one entry
 * per response token of `rows`.
 */
function meanOf(numbers: Float32Array, rows: readonly Row[]): number {
  const mask = rows.flatMap(({ experience }) => [...experience.actionMask]);
  const trained = numbers.filter((_, i) => mask[i] === 1);
  return trained.reduce((sum, x) => sum + x, 0) / trained.length;
}

function assertSame(experience: Experience, computed: Float32Array): void {
  const { actionMask, logprobs } = experience;
  const differs = (x: number, i: number): boolean =>
    actionMask[i] === 1 && !(Math.abs(x - (logprobs[i] ?? NaN)) <= tolerance);
  const token = computed.findIndex(differs);
  if (token < 0) return;
  const name = uid(experience.eid);
  throw new EngineError(
    `Response token ${token} of experience ${name} has the log-probability ${logprobs[token]}, but the weights that sampled it give ${computed[token]}; expected at most ${tolerance} between them. ` +
      'Leave the log-probabilities of model calls as they were recorded; if nothing changed them, please report this.',
    { code: 'RECORDED_LOGPROBS_DIFFER', details: { uid: name, token } },
  );
}
