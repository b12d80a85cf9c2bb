/**
 * Remembers which server last processed each prompt prefix. That server probably still has the
 * prefix in its cache.
 */

const blockTokens = 32;
const mostBlocks = 16_384;

export interface Affinity<Server> {
  /**
   * Returns the server that processed the longest known prefix of `prompt`, or undefined if no
   * prefix is known.
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
 * Returns a hash for each full block of tokens, computed over all tokens up to the end of the
 * block. For a prompt shorter than a block, returns one hash of the whole prompt.
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
