/** Clipped policy gradient with a second clip for negative advantages. */
import { booleanArg, numberArg, type ArgValues } from '@trinity-rft/core';
import type { TokenBlock } from '../parts/token-block.js';
import { tokenTerm, type TokenTerm } from '../parts/token-term.js';
import { blockSize } from '../parts/visit.js';
import { boundedExp, definePolicyLoss } from '../parts/policy-loss-part.js';
import { sequenceMask } from './sequence-mask.js';

/** Of the clip: those of `mix` too. */
export const clipArgs = {
  clipRange: numberArg(0.2, { min: 0 }, 'Importance ratios are clipped to 1 - this and 1 + this.'),
  clipRangeLow: numberArg(undefined, { min: 0 }, 'Lower side of the clip. Default: clip_range.'),
  clipRangeHigh: numberArg(undefined, { min: 0 }, 'Upper side of the clip. Default: clip_range.'),
  clipRatioC: numberArg(
    3,
    { above: 1 },
    'Where the advantage is negative, the loss is at most -A times this.',
  ),
};

const args = {
  ...clipArgs,
  enableSequenceMasking: booleanArg(
    false,
    'Leave out tokens of negative advantage in rows that the policy has moved away from.',
  ),
  deltaSequenceMasking: numberArg(
    0.1,
    {},
    'Mean of old - current log-probability above which a row counts as such.',
  ),
  fallbackToPolicyGradient: booleanArg(
    false,
    'Take the ratio as 1: plain policy gradient, without clipping.',
  ),
};

/**
 * With d = clip(x - o, -20, 20), r = e^d, a = -A r, b = -A clip(r, 1 - low, 1 + high): l = max(a,
 * b), and l = min(l, -A c) where A < 0. dl/dx = -A r where a is active, 0 where a clip is. A ratio
 * exactly on a bound is not clipped. With `fallbackToPolicyGradient` d = x - sg(x), so r = 1 and
 * dl/dx = -A.
 *
 * Metrics: `pg_loss`, `pg_clipfrac` (share b > a), `pg_clipfrac_lower` (share of the second clip),
 * `ppo_kl` (mean of -d).
 * @see PPO, arXiv:1707.06347, eq. 7; dual clip, arXiv:1912.09729, eq. 5
 */
export const ppo = definePolicyLoss({
  args,
  doc: {
    summary:
      'Proximal policy optimisation: no gain from moving a token beyond the clip range; a second clip bounds the loss of bad tokens.',
    formula:
      'l = max(-A r, -A clip(r, 1 - low, 1 + high)); where A < 0: l = min(l, -A clip_ratio_c)',
    source: {
      title: 'Proximal Policy Optimization Algorithms',
      url: 'https://arxiv.org/abs/1707.06347',
    },
  },
  create: clippedPolicyGradient,
});

/** Any of the options of ppo, and those of the clip. */
type ClipOptions = Partial<ArgValues<typeof args>> & ArgValues<typeof clipArgs>;

/** ppo, and the policy loss of `mix`. */
export function clippedPolicyGradient(options: ClipOptions): TokenTerm {
  const {
    clipRatioC: most,
    clipRangeLow = options.clipRange,
    clipRangeHigh = options.clipRange,
  } = options;
  const [low, high] = [1 - clipRangeLow, 1 + clipRangeHigh];
  const {
    enableSequenceMasking,
    deltaSequenceMasking: delta = 0,
    fallbackToPolicyGradient,
  } = options;
  return tokenTerm({
    open: (input) => ({
      masked: enableSequenceMasking
        ? sequenceMask(input, delta, fallbackToPolicyGradient)
        : undefined,
      low,
      high,
      most,
      kl: 0,
      clipped: 0,
      clippedLower: 0,
    }),
    visit: (block, state) => {
      const { size, advantage, value, gradient } = block;
      // Where the old policy is taken to be the current one, every ratio is 1.
      const d = fallbackToPolicyGradient ? zeros : block.d;
      const ratio = boundedExp(d, block);
      const { low, high, most } = state;
      let [kl, clipped, clippedLower] = [0, 0, 0];
      for (let i = 0; i < size; i++) {
        const A = advantage[i]!;
        const r = ratio[i]!;
        // The two clips and the maximum come to -A min(r, 1 + high) where A > 0, and -A clip(r, 1 -
        // low, c) where A < 0.
        const bounded = A > 0 ? Math.min(r, high) : Math.min(Math.max(r, low), most);
        const isFar = Math.abs(d[i]!) > 20;
        value[i] = -A * bounded;
        gradient[i] = -A * r;
        kl -= d[i]!;
        if (bounded === r && !isFar) continue;
        gradient[i] = 0;
        if (isFar) kl += d[i]! - 20 * Math.sign(d[i]!);
        if (A > 0 ? r > high : A < 0 && r < low) clipped++;
        if (A < 0 && r > most) clippedLower++;
      }
      if (state.masked) leaveOut(block, state.masked.rows);
      state.kl += kl;
      state.clipped += clipped;
      state.clippedLower += clippedLower;
    },
    metrics: (loss, mean, { masked, kl, clipped, clippedLower }) => ({
      pg_loss: loss,
      pg_clipfrac: mean(clipped),
      pg_clipfrac_lower: mean(clippedLower),
      ppo_kl: mean(kl),
      ...masked?.metrics,
    }),
  });
}

const zeros = new Float64Array(blockSize);

function leaveOut({ size, row, advantage, value, gradient }: TokenBlock, rows: Uint8Array): void {
  if (row[0] === row[size - 1] && rows[row[0]!] === 0) return;
  for (let i = 0; i < size; i++) {
    if (!(advantage[i]! < 0) || rows[row[i]!] === 0) continue;
    value[i] = 0;
    gradient[i] = 0;
  }
}
