/** One optimizer step. Blind to the algorithm (it gets a loss) and to the engine (it gets verbs). */
import {
  EngineError,
  prefixMetrics,
  uid,
  type Algorithm,
  type Clock,
  type Lease,
  type LossOutput,
  type Metrics,
  type OptimizerOptions,
  type TrainEngine,
} from '@trinity-rft/core';
import { dataMetrics, entropyMetrics, mismatchMetrics } from './data-metrics.js';
import { packBatch, type PackedBatch } from './pack.js';

export interface TrainStepOptions {
  readonly engine: TrainEngine;
  readonly algorithm: Pick<Algorithm, 'loss' | 'needs'>;
  readonly optimizer: OptimizerOptions;
  readonly step: number;
  readonly maxResponseTokens?: number;
  readonly clock: Clock;
}

/** Forward, loss, backward, update, acknowledge. The lease is given back when anything before the update fails. */
export async function trainStep(lease: Lease, options: TrainStepOptions): Promise<Metrics> {
  const { engine, algorithm, optimizer, step, clock } = options;
  const { needs } = algorithm;
  const { experiences } = lease;
  const time = stopwatch(clock);
  try {
    const batch = packBatch(experiences, { rollouts: needs.rollouts });
    const pass = await time('forward', engine.forward(batch.tokens, { entropy: needs.entropy !== 'none' }));
    const reference = needs.referenceLogprobs ? await time('ref', engine.forward(batch.tokens, { weights: 'reference' })) : undefined;
    const scored = {
      currentLogprobs: batch.toLoss(pass.logprobs),
      ...(pass.entropy && { entropy: batch.toLoss(pass.entropy) }),
    };
    const loss = algorithm.loss({ step, ...batch.static, ...scored, ...(reference && { refLogprobs: batch.toLoss(reference.logprobs) }) });
    assertFinite(loss, batch);
    const gradients = {
      logprobs: batch.toEngine(loss.gradLogprobs),
      ...(loss.gradEntropy && { entropy: batch.toEngine(loss.gradEntropy) }),
    };
    await time('backward', engine.backward(pass, gradients));
    const update = await time('optimizer', engine.step(optimizer));
    await lease.acknowledge(step);
    const tokens = batch.tokens.rows.reduce((sum, row) => sum + row.tokens.length, 0);
    return {
      ...lease.metrics,
      ...dataMetrics(batch, step, options.maxResponseTokens),
      ...(needs.rollouts && mismatchMetrics(scored.currentLogprobs, batch)),
      ...entropyMetrics(scored.entropy, batch),
      ...prefixMetrics('actor', loss.metrics),
      'actor/final_loss': loss.loss,
      'actor/grad_norm': Number.isFinite(update.gradNorm) ? update.gradNorm : -1,
      'actor/lr': optimizer.learningRate,
      'actor/update_skipped': update.skipped ? 1 : 0,
      'perf/total_num_tokens': tokens,
      ...time.metrics(),
    };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

interface Stopwatch {
  <T>(name: string, work: Promise<T>): Promise<T>;
  metrics(): Metrics;
}

function stopwatch(clock: Clock): Stopwatch {
  const seconds: Record<string, number> = {};
  const begun = clock.now();
  const measure = async <T>(name: string, work: Promise<T>): Promise<T> => {
    const start = clock.now();
    const result = await work;
    seconds[`time/${name}`] = (clock.now() - start) / 1000;
    return result;
  };
  return Object.assign(measure, { metrics: () => ({ ...seconds, 'time/train_step': (clock.now() - begun) / 1000 }) });
}

/** @throws EngineError naming the first experience whose gradient is not finite */
function assertFinite(loss: LossOutput, { calls, static: { offsets } }: PackedBatch): void {
  for (const gradient of [loss.gradLogprobs, loss.gradEntropy]) {
    const bad = gradient?.findIndex((value) => !Number.isFinite(value)) ?? -1;
    if (bad < 0) continue;
    const row = offsets.findIndex((_, i) => i < calls.length && bad < offsets[i + 1]!);
    const { experience, span } = calls[row]!;
    const name = uid(experience.eid);
    throw new EngineError(
      `The loss gradient of experience ${name}, response token ${span.start + bad - offsets[row]!}, is ${gradient![bad]}. Look at its reward, advantage and log-probabilities.`,
      {
        code: 'GRADIENT_NOT_FINITE',
        details: { uid: name },
      },
    );
  }
  if (!Number.isFinite(loss.loss))
    throw new EngineError(`The loss of the batch is ${loss.loss}; expected a finite number.`, { code: 'LOSS_NOT_FINITE' });
}
