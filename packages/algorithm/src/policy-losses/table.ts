/**
 * Policy losses by their names in YAML's `policy_loss_fn`. To add a loss, write a file in this
 * folder, and an entry below. Then use the loss in a preset in `presets/`, add it to the variants
 * in the tests, and regenerate the reference.
 */
import type { PolicyLossPart } from '../parts/policy-loss-part.js';
import { cispo } from './cispo.js';
import { dpo } from './dpo.js';
import { gspo } from './gspo.js';
import { importanceSampling } from './importance-sampling.js';
import { m2po } from './m2po.js';
import { mixChord } from './mix-chord.js';
import { mix } from './mix.js';
import { opmd } from './opmd.js';
import { ppo } from './ppo.js';
import { rec } from './rec.js';
import { sapo } from './sapo.js';
import { sftIs } from './sft-is.js';
import { sftPhi } from './sft-phi.js';
import { sft } from './sft.js';
import { sppo } from './sppo.js';
import { topr } from './topr.js';
import { truncatedImportanceSampling } from './truncated-importance-sampling.js';

export const policyLossFns = {
  ppo,
  gspo,
  cispo,
  sapo,
  topr,
  opmd,
  sppo,
  rec,
  m2po,
  importance_sampling: importanceSampling,
  truncated_importance_sampling: truncatedImportanceSampling,
  sft,
  sft_is: sftIs,
  sft_phi: sftPhi,
  dpo,
  mix,
  mix_chord: mixChord,
} satisfies Readonly<Record<string, PolicyLossPart>>;
