/**
 * Converts the advantages of one experience to their stored form: a single number, or one number
 * per token if they differ.
 */

interface StoredAdvantage {
  /** Mean over the trained tokens; null if there are no trained tokens. */
  readonly mean: number | null;
  /** Advantage of each token, if they differ. */
  readonly tokens?: Uint8Array;
}

/**
 * Converts advantages to their stored form.
 * @param advantages one per token; NaN for tokens that were not trained on
 */
export function storedAdvantage(advantages: Float32Array | undefined): StoredAdvantage {
  if (!advantages) return { mean: null };
  const trained = advantages.filter((value) => !Number.isNaN(value));
  const [first] = trained;
  if (first === undefined) return { mean: null };
  if (trained.every((value) => value === first)) return { mean: first };
  const mean = trained.reduce((sum, value) => sum + value, 0) / trained.length;
  const { buffer, byteOffset, byteLength } = advantages;
  return { mean, tokens: new Uint8Array(buffer, byteOffset, byteLength) };
}

/** Reads one advantage per response token; NaN for tokens that were not trained on. */
export function readTokenAdvantages(bytes: Uint8Array): Float32Array {
  // Copied, because the bytes may begin at an offset that is not aligned.
  return new Float32Array(new Uint8Array(bytes).buffer);
}
