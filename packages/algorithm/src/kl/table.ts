/** The KL losses by the names of YAML's `kl_loss_fn`. A new one is an estimator and a row. */
import { klEstimators } from './estimators.js';
import { klLoss, noKl, type KlPart } from './kl-loss.js';

export const klLossFns = {
  none: noKl,
  k1: klLoss(klEstimators.k1),
  k2: klLoss(klEstimators.k2),
  k3: klLoss(klEstimators.k3),
  low_var_kl: klLoss(klEstimators.low_var_kl),
  abs: klLoss(klEstimators.abs),
  corrected_k3: klLoss(klEstimators.corrected_k3),
} satisfies Readonly<Record<string, KlPart>>;
