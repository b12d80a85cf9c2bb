/**
 * The generator behind numpy's `RandomState`, for figures that must equal those of Python programs.
 * Not for anything else.
 */

const size = 624;
const shift = 397;

/**
 * Uniform 32-bit numbers of MT19937 after `numpy.random.seed(seed)`. Source: Matsumoto and
 * Nishimura 1998, doi:10.1145/272991.272995.
 */
function mt19937(seed: number): () => number {
  const state = new Uint32Array(size);
  state[0] = seed;
  for (let i = 1; i < size; i++)
    state[i] = Math.imul(1812433253, state[i - 1]! ^ (state[i - 1]! >>> 30)) + i;
  let at = size;
  return () => {
    if (at === size) {
      refill(state);
      at = 0;
    }
    let word = state[at++]!;
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    return (word ^ (word >>> 18)) >>> 0;
  };
}

function refill(state: Uint32Array): void {
  for (let i = 0; i < size; i++) {
    const mixed = (state[i]! & 0x80000000) | (state[(i + 1) % size]! & 0x7fffffff);
    state[i] = state[(i + shift) % size]! ^ (mixed >>> 1) ^ (mixed & 1 ? 0x9908b0df : 0);
  }
}

/**
 * Draws of `numpy.random.seed(seed); numpy.random.choice(count, ..)` with replacement, as the
 * legacy `RandomState` makes them: a word cut to the bits of `count - 1`, again until it is no
 * larger than that. One number takes no word at all.
 */
export function numpyChoice(seed: number, count: number): () => number {
  const next = mt19937(seed);
  const largest = count - 1;
  if (largest === 0) return () => 0;
  const mask = 2 ** (32 - Math.clz32(largest)) - 1;
  return () => {
    let draw = largest + 1;
    while (draw > largest) draw = (next() & mask) >>> 0;
    return draw;
  };
}
