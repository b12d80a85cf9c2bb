/** The bytes of each token id. */

export interface TokenBytes {
  /** The byte strings of all tokens, one after another. */
  readonly bytes: Uint8Array;
  /**
   * Start of each token in `bytes`: token t is `bytes[offsets[t] .. offsets[t + 1])`. Ids beyond
   * the table have no bytes.
   */
  readonly offsets: Uint32Array;
}

export function packTokenBytes(tokens: readonly Uint8Array[]): TokenBytes {
  const offsets = new Uint32Array(tokens.length + 1);
  for (let i = 0; i < tokens.length; i++) offsets[i + 1] = offsets[i]! + tokens[i]!.length;
  const bytes = new Uint8Array(offsets[tokens.length]!);
  for (let i = 0; i < tokens.length; i++) bytes.set(tokens[i]!, offsets[i]);
  return { bytes, offsets };
}
