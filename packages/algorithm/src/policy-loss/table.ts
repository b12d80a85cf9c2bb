/** The policy losses by the names of YAML's `policy_loss_fn`. A new one is a file here and a row. */
import type { Part, TermWithNeeds } from '../part.js';
import { ppo } from './ppo.js';
import { sft } from './sft.js';

export const policyLossFns = { ppo, sft } satisfies Readonly<Record<string, Part<TermWithNeeds>>>;
