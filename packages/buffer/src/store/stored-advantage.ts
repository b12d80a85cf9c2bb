/** Advantages of one experience in a store: a single number, or one per token if they differ. */

interface StoredAdvantage {
  /** Mean over the trained tokens; null if there are none. */
  readonly mean: number | null;
  /** Advantage of each token, if they differ. */
  readonly tokens?: Uint8Array;
}

/** @param advantages NaN where a token was not trained on */
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

/** One advantage per response token, NaN where it was not trained on. */
export function readTokenAdvantages(bytes: Uint8Array): Float32Array {
  // A copy: the bytes may begin at any offset.
  return new Float32Array(new Uint8Array(bytes).buffer);
}
