import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fillFile, replaceFile, replaceFileSync } from './replace-file.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'replace-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const ways: readonly (readonly [string, (file: string, text: string) => unknown])[] = [
  ['replaceFile', replaceFile],
  ['replaceFileSync', (file, text) => replaceFileSync(file, text)],
  ['replaceFileSync with flush', (file, text) => replaceFileSync(file, text, { flush: true })],
  ['fillFile', (file, text) => fillFile(file, (draft) => writeFile(draft, text))],
];

describe.each(ways)('%s', (_, write) => {
  it('replaces the file and leaves nothing beside it', async () => {
    const file = path.join(folder, 'a.json');
    writeFileSync(file, 'old');
    await write(file, 'new');
    expect(readFileSync(file, 'utf8')).toBe('new');
    expect(readdirSync(folder)).toEqual(['a.json']);
  });

  it('leaves no draft when the place cannot be taken', async () => {
    await expect((async () => write(folder, 'new'))()).rejects.toThrow(/EISDIR|EPERM/);
    expect(
      readdirSync(path.dirname(folder)).filter((name) =>
        name.startsWith(`${path.basename(folder)}.`),
      ),
    ).toEqual([]);
  });
});

it('replaces a file several times at once', async () => {
  const file = path.join(folder, 'a.json');
  await Promise.all(['1', '2', '3'].map((text) => replaceFile(file, text)));
  expect(readdirSync(folder)).toEqual(['a.json']);
});
