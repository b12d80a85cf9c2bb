/** Python's random generator, which WebShop uses to order its goals. */

const size = 624;

/**
 * Creates a generator of the 32-bit numbers that Python yields after `random.seed(seed)`: MT19937,
 * seeded by array.
 */
function mersenneTwister(seed: number): () => number {
  const state = seededState(seed);
  let at = size;
  return () => {
    if (at === size) {
      twist(state);
      at = 0;
    }
    let word = state[at++] ?? 0;
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    return (word ^ (word >>> 18)) >>> 0;
  };
}

function seededState(seed: number): Uint32Array {
  const state = new Uint32Array(size);
  const mix = (i: number) => {
    const before = state[i - 1] ?? 0;
    return before ^ (before >>> 30);
  };
  state[0] = 19650218;
  for (let i = 1; i < size; i++) state[i] = Math.imul(1812433253, mix(i)) + i;
  let i = 1;
  const advance = () => {
    i++;
    if (i < size) return;
    state[0] = state[size - 1] ?? 0;
    i = 1;
  };
  for (let k = 0; k < size; k++) {
    state[i] = ((state[i] ?? 0) ^ Math.imul(mix(i), 1664525)) + seed;
    advance();
  }
  for (let k = 0; k < size - 1; k++) {
    state[i] = ((state[i] ?? 0) ^ Math.imul(mix(i), 1566083941)) - i;
    advance();
  }
  state[0] = 0x80000000;
  return state;
}

function twist(state: Uint32Array): void {
  for (let i = 0; i < size; i++) {
    const y = ((state[i] ?? 0) & 0x80000000) | ((state[(i + 1) % size] ?? 0) & 0x7fffffff);
    state[i] = (state[(i + 397) % size] ?? 0) ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
  }
}

/**
 * Returns a copy in the order that `random.seed(seed); random.shuffle(items)` produces.
 * @param seed below 2 ** 32
 */
export function pythonShuffle<T>(items: readonly T[], seed: number): T[] {
  const next = mersenneTwister(seed);
  const below = (limit: number): number => {
    const bits = 32 - Math.clz32(limit);
    for (;;) {
      const value = next() >>> (32 - bits);
      if (value < limit) return value;
    }
  };
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = below(i + 1);
    [out[i], out[j]] = [out[j] as T, out[i] as T];
  }
  return out;
}
