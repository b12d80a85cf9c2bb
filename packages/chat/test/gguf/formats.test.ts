/**
 * Compares formats with the gguf package of llama.cpp; tools/fixtures/gguf_files.py makes the fixtures.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openGguf } from '../../src/gguf/file/gguf-file.js';
import { tensorTypes } from '../../src/gguf/quantization/table.js';

const fixture = (name: string) => new URL(`fixtures/${name}`, import.meta.url).pathname;
const expected = JSON.parse(readFileSync(fixture('formats.json'), 'utf8')) as Record<
  string,
  string
>;

describe('tensors', () => {
  it('are known in every format that the table has', () => {
    expect(Object.keys(expected).toSorted()).toEqual(
      [...tensorTypes.values()].map(({ name }) => name).toSorted(),
    );
  });

  it.each(Object.keys(expected))('of %s are decoded to the same bits', (name) => {
    const file = openGguf(fixture('formats.gguf'));
    const [rows = 0, width = 0] = file.tensors.get(name)?.shape ?? [];
    const values = new Float32Array(rows * width);
    file.read(name, values);
    file.close();
    expect(rows).toBe(2);
    expect(Buffer.from(values.buffer).toString('base64')).toBe(expected[name]);
  });
});
