/**
 * Advantage functions by their names in YAML's `advantage_fn`. To add a function, write a file in
 * this folder, and an entry below.
 */
import { asymre, asymreVerl } from './asymre.js';
import { clipb } from './clipb.js';
import { clipv } from './clipv.js';
import { gigpo } from './gigpo.js';
import { grpoVerl } from './grpo-verl.js';
import { grpo } from './grpo.js';
import { jsd } from './jsd.js';
import { onPolicyDistill } from './on-policy-distill.js';
import { opmd, opmdVerl } from './opmd.js';
import { ppo } from './ppo.js';
import { raft } from './raft.js';
import { rec } from './rec.js';
import { reinforcePlusPlus } from './reinforce-plus-plus.js';
import { reinforce } from './reinforce.js';
import { remax } from './remax.js';
import { rloo } from './rloo.js';
import { stepWiseGrpo } from './step-wise-grpo.js';
import type { AdvantagePart } from '../parts/advantage-part.js';

export const advantageFns = {
  grpo,
  step_wise_grpo: stepWiseGrpo,
  gigpo,
  ppo,
  reinforceplusplus: reinforcePlusPlus,
  remax,
  rloo,
  reinforce,
  opmd,
  asymre,
  rec,
  raft,
  on_policy_distill: onPolicyDistill,
  jsd,
  clipb,
  clipv,
  grpo_verl: grpoVerl,
  opmd_verl: opmdVerl,
  asymre_verl: asymreVerl,
} satisfies Readonly<Record<string, AdvantagePart>>;
