/**
 * Cuts a sample after the first stop string, because servers accept either stop ids or stop
 * strings, not both.
 */
import type { SampledSequence } from '@trinity-rft/core/engine';

type Cut = Pick<SampledSequence, 'tokens' | 'logprobs' | 'stopReason' | 'stopString'>;

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
    const found = encoded.find(({ bytes }) => text.includes(bytes));
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
