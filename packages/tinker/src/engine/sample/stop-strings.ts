/**
 * Truncates samples at stop strings on the client, because servers accept either stop ids or stop
 * strings, not both.
 */
import type { SampledSequence } from '@trinity-rft/core/engine';

type Cut = Pick<SampledSequence, 'tokens' | 'logprobs' | 'stopReason' | 'stopString'>;

/**
 * Truncates a sample after the token that completes a stop string. If the token completes several
 * stop strings, `stopString` is the one that ends first in the text.
 */
export function cutAtStop(
  sample: Cut,
  stops: readonly string[],
  tokenBytes: readonly Uint8Array[],
): Cut {
  const pieces = Array.from(sample.tokens, (id) => tokenBytes[id] ?? new Uint8Array());
  const text = Buffer.concat(pieces);
  const [found] = stops
    .map((stop) => ({ stop, start: text.indexOf(stop) }))
    .filter(({ start }) => start >= 0)
    .map(({ stop, start }) => ({ stop, end: start + Buffer.byteLength(stop) }))
    .toSorted((a, b) => a.end - b.end);
  if (found === undefined) return sample;
  let count = 0;
  for (let length = 0; length < found.end; count++) length += pieces[count]!.length;
  return {
    tokens: sample.tokens.slice(0, count),
    logprobs: sample.logprobs.slice(0, count),
    stopReason: 'stop',
    stopString: found.stop,
  };
}
