import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelFamilies } from '../packages/engine-onnx/src/model/config.ts';
import { ggufArchitectures, tensorTypes } from '../packages/gguf/src/index.ts';
import { sizes } from './bench/sizes/shapes.ts';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/reference/models.md'), 'utf8');

/** First cells of the table below a heading. */
function firstCells(heading: string): readonly string[] {
  const section = page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((line) => (line.split('|')[1] ?? '').replaceAll('`', '').trim());
}

describe('the page about models', () => {
  it('names the families that the engine loads, as folders and as GGUF files', () => {
    expect(firstCells('Which models load').toSorted()).toEqual([...modelFamilies].toSorted());
    expect(Object.keys(ggufArchitectures).toSorted()).toEqual([...modelFamilies].toSorted());
  });

  it('names every number format of GGUF that is read', () => {
    for (const { name } of tensorTypes.values()) expect(page).toMatch(new RegExp(`\\b${name}\\b`));
  });

  it('has rows of sizes that `pnpm bench sizes` measures', () => {
    const names = sizes.map(({ name }) => name);
    const rows = firstCells('What fits on a CPU');
    expect(rows.length).toBeGreaterThan(3);
    for (const row of rows) expect(names).toContain(row);
  });
});
