import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { packTokenBytes, type TokenBytes } from '../model/token-bytes.js';
import { createStopMatcher } from './stop-matcher.js';

const stopsOf = (...texts: readonly string[]): { text: string; bytes: Uint8Array }[] =>
  texts.map((text) => ({ text, bytes: Buffer.from(text) }));

/**
 * Feeds the pieces as tokens 0, 1, 2 ...; returns the first match and the index of the token that
 * completed it.
 */
function match(
  pieces: readonly (string | Uint8Array)[],
  ...stops: readonly string[]
): { at: number; text: string } | undefined {
  const bytes: TokenBytes = packTokenBytes(pieces.map((piece) => Buffer.from(piece)));
  const matcher = createStopMatcher(stopsOf(...stops), bytes);
  for (let at = 0; at < pieces.length; at++) {
    const text = matcher.push(at);
    if (text !== undefined) return { at, text };
  }
  return undefined;
}

describe('a stop matcher', () => {
  it('finds a string inside a token, across tokens, and at the end of one', () => {
    expect(match(['a', 'xSTOPy'], 'STOP')).toEqual({ at: 1, text: 'STOP' });
    expect(match(['a S', 'T', 'O', 'Py'], 'STOP')).toEqual({ at: 3, text: 'STOP' });
    expect(match(['STO', 'PSTOP'], 'STOP')).toEqual({ at: 1, text: 'STOP' });
  });

  it('reports a string only for the token that completes it', () => {
    const pieces = ['ab', 'x', 'y'].map((piece) => Buffer.from(piece));
    const matcher = createStopMatcher(stopsOf('ab', 'long stop'), packTokenBytes(pieces));
    expect([0, 1, 2].map((token) => matcher.push(token))).toEqual(['ab', undefined, undefined]);
  });

  it('finds characters whose bytes are split between tokens', () => {
    const [euro] = [Buffer.from('€')];
    expect(match(['x', euro.subarray(0, 1), euro.subarray(1, 2), euro.subarray(2)], '€')).toEqual({
      at: 3,
      text: '€',
    });
  });

  it('takes the string that ends first, then the one named first', () => {
    expect(match(['abcdef'], 'def', 'cd')).toEqual({ at: 0, text: 'cd' });
    expect(match(['abcd'], 'cd', 'bcd')).toEqual({ at: 0, text: 'cd' });
  });

  it('reads tokens without bytes, and ids beyond the table, as nothing', () => {
    const matcher = createStopMatcher(
      stopsOf('ab'),
      packTokenBytes(['a', '', 'b'].map((text) => Buffer.from(text))),
    );
    expect([0, 1, 99, 2].map((token) => matcher.push(token))).toEqual([
      undefined,
      undefined,
      undefined,
      'ab',
    ]);
  });

  it('finds a match exactly when the text so far contains the string', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), maxLength: 3 });
    const stop = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        fc.array(stop, { minLength: 1, maxLength: 3 }),
        (pieces, stops) => {
          const at = pieces.findIndex((_, i) =>
            stops.some((text) =>
              pieces
                .slice(0, i + 1)
                .join('')
                .includes(text),
            ),
          );
          expect(match(pieces, ...stops)?.at ?? -1).toBe(at);
        },
      ),
    );
  });
});
