import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
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

it('begins anew at its size, and keeps what was before once', () => {
  const file = inFolder('bounded.log');
  for (const writer of [
    fileWriter(file, { maxFileBytes: 8 }),
    fileWriter(file, { maxFileBytes: 8 }),
  ]) {
    for (const line of ['aaa', 'bbb', 'ccc', 'longer than a file']) writer.write(line);
    writer.close();
  }
  expect(readFileSync(file, 'utf8')).toBe('longer than a file\n');
  expect(readFileSync(`${file}.1`, 'utf8')).toBe('ccc\n');
});

it('says what it cannot open', () => {
  writeFileSync(inFolder('file'), '');
  expect(() => fileWriter(inFolder('file', 'x.log'))).toThrow(
    /x\.log could not be written: .*writable/,
  );
});

it('writes again once a full file can be renamed', () => {
  const file = inFolder('log', 'again.log');
  const writer = fileWriter(file, { maxFileBytes: 4 });
  writer.write('aaa');
  mkdirSync(`${file}.1`);
  expect(() => writer.write('lost')).toThrow(/again\.log could not be written: /);
  rmdirSync(`${file}.1`);
  writer.write('bbb');
  writer.close();
  expect(readFileSync(file, 'utf8')).toBe('bbb\n');
  expect(readFileSync(`${file}.1`, 'utf8')).toBe('aaa\n');
});
