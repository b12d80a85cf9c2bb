/**
 * Seeded random streams. Equal seeds give equal numbers on every machine. The seed of a stream is
 * derived from a root seed and names.
 */

/** A stream of pseudo-random numbers. Not suitable for secrets. */
export interface Random {
  /** Returns a uniformly distributed number in [0, 1), with 53 random bits. */
  next(): number;
  /** Returns a uniformly distributed integer in [0, below). */
  integer(below: number): number;
  /** Returns a standard normally distributed number (Box-Muller). */
  normal(): number;
  /** Returns a shuffled copy (Fisher-Yates). */
  shuffle<T>(items: readonly T[]): T[];
}

/**
 * Mixes a root seed with any number of names into a 32-bit seed. The result depends on the
 * arguments only, not on seeds that were derived before. The hash is FNV-1a over the parts,
 * followed by the avalanche of murmur3.
 */
export function deriveSeed(root: number, ...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  const text = `${root >>> 0}|${parts.join('|')}`;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Creates a random stream from a 32-bit seed. The generator is sfc32 (Chris Doty-Humphrey,
 * PractRand); its first twelve rounds are discarded.
 */
export function createRandom(seed: number): Random {
  let a = 0;
  let b = seed >>> 0;
  let c = 0x9e3779b9;
  let counter = 1;
  const next32 = (): number => {
    const out = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + out;
    c |= 0;
    return out >>> 0;
  };
  for (let i = 0; i < 12; i++) next32();

  const next = (): number =>
    ((next32() >>> 5) * 67_108_864 + (next32() >>> 6)) / 9_007_199_254_740_992;
  const integer = (below: number): number => Math.floor(next() * below);
  return {
    next,
    integer,
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    shuffle: (items) => {
      const out = [...items];
      for (let i = out.length - 1; i > 0; i--) {
        const j = integer(i + 1);
        [out[i], out[j]] = [out[j]!, out[i]!];
      }
      return out;
    },
  };
}
