import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useFolder } from '../test/folder.js';
import { fileWriter } from './file-writer.js';

const inFolder = useFolder();

it('appends lines that are there when write returns, and ignores those after close', () => {
  const file = inFolder('log', 'explorer.log');
  for (const text of ['a', 'b']) {
    const writer = fileWriter(file);
    writer.write(text);
    expect(readFileSync(file, 'utf8').endsWith(`${text}\n`)).toBe(true);
    writer.close();
    writer.close();
    writer.write('late');
  }
  expect(readFileSync(file, 'utf8')).toBe('a\nb\n');
});

it('says what it cannot open', () => {
  writeFileSync(inFolder('file'), '');
  expect(() => fileWriter(inFolder('file', 'x.log'))).toThrow(
    /x\.log could not be written: .*writable/,
  );
});
