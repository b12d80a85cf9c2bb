import { expect, it } from 'vitest';
import { openTogether } from './open-together.js';

it('closes what is open in reverse order where the next part cannot be opened', async () => {
  const closed: string[] = [];
  const opened = openTogether(async (stack) => {
    for (const name of ['engine', 'sampler'])
      stack.use({ close: async () => void closed.push(name) });
    throw new Error('no tokenizer');
  });
  await expect(opened).rejects.toThrow('no tokenizer');
  expect(closed).toEqual(['sampler', 'engine']);
});

it('closes the others where one cannot be closed, and rejects with its error', async () => {
  const closed: string[] = [];
  const stack = await openTogether(async (parts) => {
    parts.use({ close: async () => void closed.push('engine') });
    parts.use({ close: () => Promise.reject(new Error('busy')) });
    return parts;
  });
  await expect(stack.close()).rejects.toThrow('busy');
  expect(closed).toEqual(['engine']);
});
