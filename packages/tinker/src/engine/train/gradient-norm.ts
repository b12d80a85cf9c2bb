/** Reads the gradient norm from the metrics of an optimizer step. */

import { notFinite } from './rows.js';

/**
 * Returns the gradient norm from the metrics of an optimizer step, or undefined if the server
 * reports none. SkyRL's key is `skyrl.ai/grad_norm`.
 * @throws EngineError if the norm is not finite
 */
export function gradNormOf(metrics: Readonly<Record<string, number>>): number | undefined {
  const norm = Object.entries(metrics).find(([name]) => /(^|[/:])grad_norm$/.test(name))?.[1];
  if (norm !== undefined && !Number.isFinite(norm)) throw notFinite(`${norm} as gradient norm`);
  return norm;
}

/**
 * Returns true if the metrics come from SkyRL 0.4, which ignores the clipping threshold and does
 * not clip gradients.
 */
export const ignoresClipping = (metrics: Readonly<Record<string, number>>): boolean =>
  Object.keys(metrics).some((name) => name.startsWith('skyrl.ai/'));
