import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  fetchFile,
  listName,
  partBytes,
  problemOfWeights,
  storeFile,
  writeWeightList,
} from './weight-files.js';

it('transfers files in parts, because those of a large model fit into no array', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'weight-files-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  writeFileSync(path.join(root, 'empty'), '');
  writeFileSync(path.join(root, 'large'), 'begin');
  truncateSync(path.join(root, 'large'), partBytes + 3);
  const identity = { run: 'run', version: 1 };
  const { list, digest } = await writeWeightList(root, identity);
  const stored = new Map<string, Uint8Array>();
  for (const file of [...list.files, { path: listName, sizeBytes: 1 }])
    await storeFile(root, file, async (part, bytes) => void stored.set(part, bytes));
  expect(Math.max(...[...stored.values()].map(({ length }) => length))).toBe(partBytes);

  const fetched = path.join(root, 'fetched');
  const fetchAll = async (): Promise<string | undefined> => {
    for (const file of [...list.files, { path: listName, sizeBytes: 1 }])
      await fetchFile(fetched, file, async (part) => stored.get(part));
    return problemOfWeights(fetched, { ...identity, digest });
  };
  expect(await fetchAll()).toBeUndefined();
  stored.delete('large.part_1');
  expect(await fetchAll()).toContain(`has ${partBytes} bytes; ${partBytes + 3} were published`);
  // Earlier versions store a file as one part.
  stored.set('large', Buffer.concat([stored.get('large')!, Buffer.alloc(3)]));
  expect(await fetchAll()).toBeUndefined();
});
