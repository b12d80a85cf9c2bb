/** Tracks which server last processed each prompt prefix and so probably has it cached. */

const blockTokens = 32;
const mostBlocks = 16_384;

export interface Affinity<Server> {
  /**
   * Returns the server that processed the longest prefix of `prompt`, or undefined if there is
   * none.
   */
  find(prompt: Int32Array): Server | undefined;
  remember(prompt: Int32Array, server: Server): void;
  forget(server: Server): void;
}

export function createAffinity<Server>(): Affinity<Server> {
  // A map keeps the order of insertion, so the first entries are the oldest.
  const seen = new Map<number, Server>();
  return {
    find: (prompt) => {
      const last = blockHashes(prompt).findLast((hash) => seen.has(hash));
      return last === undefined ? undefined : seen.get(last);
    },
    remember: (prompt, server) => {
      for (const hash of blockHashes(prompt)) {
        seen.delete(hash);
        seen.set(hash, server);
      }
      for (const hash of seen.keys()) {
        if (seen.size <= mostBlocks) break;
        seen.delete(hash);
      }
    },
    forget: (server) => {
      for (const [hash, owner] of seen) if (owner === server) seen.delete(hash);
    },
  };
}

/**
 * Returns one hash per full block, over all tokens up to the block's end. A prompt shorter than a
 * block has one hash of the whole prompt.
 */
function blockHashes(prompt: Int32Array): readonly number[] {
  const hashes: number[] = [];
  let hash = 0x811c9dc5;
  for (const [i, token] of prompt.entries()) {
    hash = Math.imul(hash ^ token, 0x01000193);
    hash ^= hash >>> 15;
    if ((i + 1) % blockTokens === 0) hashes.push(hash);
  }
  return hashes.length > 0 ? hashes : [hash];
}
