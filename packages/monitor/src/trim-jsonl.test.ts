import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useFolder } from '../test/folder.js';
import { trimPreview } from './trim-jsonl.js';

const inFolder = useFolder();

it('takes later steps and a torn line out of a preview and out of the text before it', () => {
  const file = inFolder('rollouts.jsonl');
  writeFileSync(`${file}.1`, '{"step":1}\n{"step":5}\n');
  writeFileSync(file, '{"step":2}\n{"step":3}\n{"step":4}\n{"st');
  trimPreview(file, 3);
  expect([`${file}.1`, file].map((each) => readFileSync(each, 'utf8'))).toEqual([
    '{"step":1}\n',
    '{"step":2}\n{"step":3}\n',
  ]);
  trimPreview(inFolder('none.jsonl'), 3);
  expect(existsSync(inFolder('none.jsonl'))).toBe(false);
});
