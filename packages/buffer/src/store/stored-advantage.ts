/**
 * Converts the advantages of an experience for storage. If all tokens have the same advantage, a
 * single number is stored, and otherwise one number per token.
 */

interface StoredAdvantage {
  /** Mean over the trained tokens; null if there are no trained tokens. */
  readonly mean: number | null;
  /** Advantage of each token, encoded as bytes. Absent if all are equal. */
  readonly tokens?: Uint8Array;
}

/**
 * Converts advantages to their stored form.
 * @param advantages advantage of each token; NaN for tokens that were not trained on
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

/**
 * Decodes the advantages of the response tokens. The value is NaN for tokens that were not trained
 * on.
 */
export function readTokenAdvantages(bytes: Uint8Array): Float32Array {
  // Copied, because the bytes may begin at an offset that is not aligned.
  return new Float32Array(new Uint8Array(bytes).buffer);
}
