/** Executes a forward or forward-backward pass over the data of a request. */
import type { TrainEngine, ForwardPass } from '@trinity-rft/core/engine';
import type { ForwardBackwardRequest, ForwardBackwardResult } from '../../protocol/index.js';
import { Refusal } from '../refusals/refusal.js';
import { lossFunctions, type LossFunction } from './losses.js';
import { lossRows, type LossRow } from './rows.js';

/** A validated forward-backward request, ready to be queued. */
export interface LossWork {
  readonly rows: readonly LossRow[];
  readonly loss: LossFunction;
  readonly settings: Readonly<Record<string, number>>;
  readonly forwardOnly: boolean;
}

/**
 * Validates a request and converts it to rows and a loss function.
 * @throws Refusal 422 if the loss, its settings or the data are not valid
 */
export function lossWork(request: ForwardBackwardRequest): LossWork {
  const { lossFn, lossConfig = {}, forwardOnly = false, data } = request;
  const loss = Object.hasOwn(lossFunctions, lossFn) ? lossFunctions[lossFn] : undefined;
  if (loss === undefined)
    throw new Refusal(
      422,
      `loss_fn is "${lossFn}". This server has ${Object.keys(lossFunctions).join(', ')}; others can be computed by the client, with forward_backward_custom.`,
    );
  const settings = settingsOf(lossFn, loss, lossConfig);
  return { rows: lossRows(data, loss, forwardOnly), loss, settings, forwardOnly };
}

function settingsOf(
  name: string,
  { settings }: LossFunction,
  given: Readonly<Record<string, number | string>>,
): Readonly<Record<string, number>> {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(settings, key));
  if (unknown !== undefined)
    throw new Refusal(
      422,
      `loss_fn_config.${unknown} is not a setting of ${name}. Expected ${Object.keys(settings).join(', ') || 'none'}.`,
    );
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => {
      const chosen = given[key] ?? value;
      if (typeof chosen === 'number' && Number.isFinite(chosen)) return [key, chosen];
      throw new Refusal(422, `loss_fn_config.${key} of ${name} must be a finite number.`);
    }),
  );
}

/**
 * Executes a pass, and adds the gradient of the summed loss to the gradients in the engine, unless
 * `forwardOnly` is true.
 */
export async function forwardBackward(
  trainer: TrainEngine,
  work: LossWork,
): Promise<ForwardBackwardResult> {
  const pass = await trainer.forward({ rows: work.rows.map(({ row }) => row) });
  const { losses, slopes } = lossesOf(pass, work);
  if (!work.forwardOnly) await trainer.backward(pass, { logprobs: slopes });
  const { offsets, logprobs } = pass;
  const sum = losses.reduce((total, loss) => total + loss, 0);
  return {
    outputType: 'scalar',
    outputs: work.rows.map((_, i) => ({
      elementwise_loss: losses.slice(offsets[i], offsets[i + 1]),
      logprobs: logprobs.slice(offsets[i], offsets[i + 1]),
    })),
    metrics: { 'loss:sum': sum },
  };
}

/**
 * Returns the loss of each token, and the derivative of that loss with respect to the token's
 * log-probability. Both are in the order of the pass's log-probabilities.
 */
function lossesOf(
  { offsets, logprobs }: ForwardPass,
  { rows, loss, settings }: LossWork,
): { readonly losses: Float32Array; readonly slopes: Float32Array } {
  const losses = new Float32Array(logprobs.length);
  const slopes = new Float32Array(logprobs.length);
  for (const [row, { inputs }] of rows.entries()) {
    const columns = Object.entries(inputs);
    const [start = 0, end = 0] = offsets.slice(row, row + 2);
    const shared = { sequence: loss.sequence?.(logprobs.subarray(start, end), inputs) };
    for (let at = start; at < end; at++) {
      const own = Object.fromEntries(columns.map(([name, values]) => [name, values[at - start]]));
      const given = { ...shared, ...own };
      const token = loss.token(logprobs[at] ?? 0, given as Record<string, number>, settings);
      losses[at] = token.loss;
      slopes[at] = token.slope;
    }
  }
  return { losses, slopes };
}
