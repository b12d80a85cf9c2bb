import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { findVllm, runPython } from '@trinity-rft/test-support';
import { describe, expect, it } from 'vitest';
import {
  markers,
  readByUs,
  readByVllm,
  recorded,
  trimmed,
  vllmCases,
  vllmTools,
  type VllmRead,
} from './vllm.js';

describe.each([...new Set(vllmCases.map(({ parser }) => parser))])('texts for %s', (parser) => {
  const results = readByVllm();
  const cases = vllmCases
    .map((given, i) => ({ ...given, vllm: results[i]! }))
    .filter((each) => each.parser === parser);

  it.each(cases)('$text is read as by vLLM, or differs for a reason', (each) => {
    const ours = trimmed(readByUs(each));
    // vLLM may read a whole and a streamed text differently; our reading must equal one of the two.
    const theirs = [trimmed(each.vllm.whole), trimmed(each.vllm.streamed)];
    const isEqual = theirs.some((their) => isDeepStrictEqual(their, ours));
    expect({ ours, theirs, isEqual }).toMatchObject({ isEqual: each.differs === undefined });
  });
});

it(
  'vLLM reads the texts as it is recorded',
  { tags: ['external'], timeout: 20 * 60_000 },
  async ({ skip }) => {
    const vllm = await findVllm();
    if ('missing' in vllm) return skip(vllm.missing);
    const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
    const found = await runPython<readonly VllmRead[]>(vllm.python, [file('./oracle/parse.py')], {
      tokenizer: file('./fixtures/byte-level/tokenizer.json'),
      markers,
      tools: vllmTools,
      cases: vllmCases,
    });
    if (process.env['RECORD'] === '1')
      await writeFile(recorded, `${JSON.stringify(found, null, 1)}\n`);
    expect(readByVllm()).toEqual(found);
  },
);
