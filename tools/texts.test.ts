/** Runs every text function on 200,000 adversarial characters; the time must not be quadratic. */
import { expect, it } from 'vitest';
import { adversarial, slowest, textFunctions } from '../bench/texts/functions.ts';

const length = 200_000;
const few = adversarial(length, true);
const forSyntax = adversarial(length).filter((_, i) => i % 5 === 0);

/** Time limit in ms. On any machine, a function with quadratic time takes longer, up to minutes. */
const limit = 10_000;

it.each(Object.entries(textFunctions))(
  '%s ends',
  async (name, read) => {
    const texts = /^(?:tool calls|reasoning|template)/.test(name) ? forSyntax : few;
    const { ms, text } = await slowest(read, texts);
    // A pause of the machine does not meet the same text twice.
    const again = ms < limit ? ms : (await slowest(read, [text])).ms;
    expect(again).toBeLessThan(limit);
  },
  120_000,
);
