/**
 * Tracks gradients that the trainer has already computed during the forward pass, so that the
 * backward pass only adds the rest.
 */
import type { ExpectedLoss, ForwardPass } from '@trinity-rft/core/engine';

/**
 * Returns dLoss/dlogprob of every token [N] if the loss is linear in the log-probabilities. Returns
 * undefined for other losses, and if all advantages are 0.
 */
export function knownGradients({ name, advantages }: ExpectedLoss): Float32Array | undefined {
  const isKnown = name === 'linear' && advantages.some((A) => A !== 0);
  return isKnown ? advantages.map((A) => -A) : undefined;
}

/**
 * Gradients with respect to log-probabilities that the trainer has already accumulated, keyed by
 * forward pass.
 */
export class AddedGradients {
  readonly #added = new WeakMap<ForwardPass, Float32Array>();

  set(pass: ForwardPass, gradients: Float32Array): void {
    this.#added.set(pass, gradients);
  }

  /**
   * Returns `gradients` minus those already accumulated for the pass, as a new array, or undefined
   * if nothing remains. May be called once per pass.
   */
  missing(pass: ForwardPass, gradients: Float32Array): Float32Array | undefined {
    const added = this.#added.get(pass);
    this.#added.delete(pass);
    if (!added) return gradients.slice();
    const rest = gradients.map((value, i) => value - (added[i] ?? 0));
    // NaN and infinities are passed to the trainer, whose error names the row.
    return rest.some((value) => value !== 0) ? rest : undefined;
  }
}
