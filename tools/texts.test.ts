/** 200,000 hard characters through every text function: the time must not grow with their square. */
import { expect, it } from 'vitest';
import { adversarial, slowest, textFunctions } from '../bench/texts/functions.ts';

const length = 200_000;
const few = adversarial(length, true);
const forSyntax = adversarial(length).filter((_, i) => i % 5 === 0);

/** A function whose time grows with the square takes longer on any machine, up to minutes. */
const limit = 10_000;

it.each(Object.entries(textFunctions))(
  '%s ends',
  async (name, read) => {
    const texts = /^(?:tool calls|reasoning|template)/.test(name) ? forSyntax : few;
    expect((await slowest(read, texts)).ms).toBeLessThan(limit);
  },
  120_000,
);
