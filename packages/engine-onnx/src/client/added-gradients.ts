/** Gradients that were computed in the same pass as the log-probabilities. */
import type { ExpectedLoss, ForwardPass } from '@trinity-rft/core/engine';

/**
 * Returns dLoss/dlogprob of every token [N] if the loss is linear in the log-probabilities. Returns
 * undefined for other losses, and if all advantages are 0.
 */
export function knownGradients({ name, advantages }: ExpectedLoss): Float32Array | undefined {
  const isKnown = name === 'linear' && advantages.some((A) => A !== 0);
  return isKnown ? advantages.map((A) => -A) : undefined;
}

/** Gradients that the trainer has already added, keyed by forward pass. */
export class AddedGradients {
  readonly #added = new WeakMap<ForwardPass, Float32Array>();

  set(pass: ForwardPass, gradients: Float32Array): void {
    this.#added.set(pass, gradients);
  }

  /**
   * Returns a copy of the part of `gradients` that is not added yet, or undefined if all gradients
   * are added. May be called once per pass.
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
