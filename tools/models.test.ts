import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelFamilies } from '../packages/engine-onnx/src/model/config.ts';
import { ggufFamilies, tensorTypes } from '../packages/chat/src/gguf/index.ts';
import { sizes } from '../bench/sizes/shapes.ts';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/reference/models.md'), 'utf8');

/** Rows of the table below a heading, without the header. */
function table(heading: string): readonly (readonly string[])[] {
  const section = page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  const cells = rows.map((line) => line.split('|').slice(1, -1));
  return cells.slice(2).map((row) => row.map((cell) => cell.replaceAll('`', '').trim()));
}

const firstCells = (rows: readonly (readonly string[])[]): readonly string[] =>
  rows.map((row) => row[0] ?? '');

describe('the page about models', () => {
  it('names the families that the engine loads, as folders and as GGUF files', () => {
    const rows = table('Which models load');
    expect(firstCells(rows).toSorted()).toEqual([...modelFamilies].toSorted());
    const asGguf = rows.filter((row) => row.at(-1) === 'yes');
    expect(firstCells(asGguf).toSorted()).toEqual(ggufFamilies.toSorted());
  });

  it('names every number format of GGUF that is read', () => {
    for (const { name } of tensorTypes.values()) expect(page).toMatch(new RegExp(`\\b${name}\\b`));
  });

  it('has rows of sizes that `pnpm bench sizes` measures', () => {
    const names = sizes.map(({ name }) => name);
    const rows = firstCells(table('What fits on a CPU'));
    expect(rows.length).toBeGreaterThan(3);
    for (const row of rows) expect(names).toContain(row);
  });
});
