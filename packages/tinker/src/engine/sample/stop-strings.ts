/** Cuts samples at stop strings, because servers accept either stop ids or stop strings, not both. */
import type { SampledSequence } from '@trinity-rft/core/engine';

type Cut = Pick<SampledSequence, 'tokens' | 'logprobs' | 'stopReason' | 'stopString'>;

/**
 * Cuts a sample after the token that completes a stop string. If this token completes several,
 * `stopString` is the one that ends first.
 */
export function cutAtStop(
  sample: Cut,
  stops: readonly string[],
  tokenBytes: readonly Uint8Array[],
): Cut {
  if (stops.length === 0) return sample;
  const encoded = stops.map((text) => ({ text, bytes: Buffer.from(text) }));
  let text = Buffer.alloc(0);
  for (const [i, id] of sample.tokens.entries()) {
    text = Buffer.concat([text, tokenBytes[id] ?? new Uint8Array()]);
    const [found] = encoded
      .filter(({ bytes }) => text.includes(bytes))
      .toSorted((a, b) => endIn(text, a.bytes) - endIn(text, b.bytes));
    if (found === undefined) continue;
    return {
      tokens: sample.tokens.slice(0, i + 1),
      logprobs: sample.logprobs.slice(0, i + 1),
      stopReason: 'stop',
      stopString: found.text,
    };
  }
  return sample;
}

const endIn = (text: Buffer, bytes: Buffer): number => text.indexOf(bytes) + bytes.length;
