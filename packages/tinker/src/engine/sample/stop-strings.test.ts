import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutAtStop } from './stop-strings.js';

const bytes = ['a', 'b', 'END', 'E', 'ND!'].map((text) => new TextEncoder().encode(text));
const sample = (...tokens: readonly number[]) => ({
  tokens: Int32Array.from(tokens),
  logprobs: Float32Array.from(tokens, (token) => -token),
  stopReason: 'length' as const,
});

it('ends a sample with the token that completes a stop text', () => {
  expect(cutAtStop(sample(0, 3, 4, 1), ['END', 'zz'], bytes)).toEqual({
    tokens: Int32Array.of(0, 3, 4),
    logprobs: Float32Array.of(-0, -3, -4),
    stopReason: 'stop',
    stopString: 'END',
  });
  expect(cutAtStop(sample(0, 1), ['END'], bytes)).toEqual(sample(0, 1));
  expect(cutAtStop(sample(0, 2), [], bytes)).toEqual(sample(0, 2));
});

it('names the stop text that ends first, in whatever order they are given', () => {
  for (const stops of [
    ['ND!', 'END'],
    ['END', 'ND!'],
  ])
    expect(cutAtStop(sample(0, 3, 4), stops, bytes).stopString).toBe('END');
});

/** The definition of the cut, token by token. */
function cutLiterally(
  tokens: readonly number[],
  stops: readonly string[],
  tokenBytes: readonly Uint8Array[],
) {
  let text = Buffer.alloc(0);
  const endIn = (stop: string): number => text.indexOf(stop) + Buffer.byteLength(stop);
  for (const [i, id] of tokens.entries()) {
    text = Buffer.concat([text, tokenBytes[id]!]);
    const [found] = stops
      .filter((stop) => text.includes(stop))
      .toSorted((a, b) => endIn(a) - endIn(b));
    if (found !== undefined) return { tokens: tokens.slice(0, i + 1), stopString: found };
  }
  return { tokens };
}

it('cuts as a look after every token would', () => {
  const texts = ['a', 'b', 'ab', 'ba', '', 'é', 'bé'].map((text) => new TextEncoder().encode(text));
  // Halves of a character.
  const tokenBytes = [...texts, Uint8Array.of(0xc3), Uint8Array.of(0xa9)];
  const ids = fc.array(fc.nat(tokenBytes.length - 1), { maxLength: 20 });
  const stop = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(ids, fc.array(stop), (tokens, stops) => {
      const {
        tokens: kept,
        logprobs,
        stopString,
      } = cutAtStop(sample(...tokens), stops, tokenBytes);
      expect({ tokens: [...kept], stopString }).toEqual(cutLiterally(tokens, stops, tokenBytes));
      expect(logprobs).toHaveLength(kept.length);
    }),
  );
});
