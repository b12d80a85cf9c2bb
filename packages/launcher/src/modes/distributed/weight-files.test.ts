import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
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
  const probe = { tokens: [], promptLength: 0, logprobs: [] };
  const { list, digest } = await writeWeightList(root, { ...identity, probe });
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

it('tells weights apart by their files or scores, not by their addresses', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'weight-files-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const identity = { run: 'run', version: 3 };
  const digestOf = async (weights: string, logprob: number): Promise<string> => {
    writeFileSync(path.join(root, 'tinker.json'), JSON.stringify({ weights }));
    const probe = { tokens: [1, 2], promptLength: 1, logprobs: [logprob] };
    return (await writeWeightList(root, { ...identity, probe })).digest;
  };
  const digest = await digestOf('tinker://one', -1);
  expect(await digestOf('tinker://two', -2)).not.toBe(digest);
  expect(await problemOfWeights(root, { ...identity, digest })).toMatch(/is not the one/);
  expect(await digestOf('tinker://two', -1)).toBe(digest);
  expect(await problemOfWeights(root, { ...identity, digest })).toBeUndefined();

  writeFileSync(path.join(root, 'adapter_model.safetensors'), 'weights');
  const beside = await digestOf('tinker://one', -1);
  expect(await digestOf('tinker://two', -1)).toBe(beside);
  expect(await problemOfWeights(root, { ...identity, digest: beside })).toBeUndefined();
  // The digest of earlier versions covers the list as it is.
  const earlier = hash('sha256', readFileSync(path.join(root, listName)), 'hex');
  expect(earlier).not.toBe(beside);
  expect(await problemOfWeights(root, { ...identity, digest: earlier })).toBeUndefined();
  writeFileSync(path.join(root, 'adapter_model.safetensors'), 'Weights');
  expect(await problemOfWeights(root, { ...identity, digest: earlier })).toMatch(/differs from/);
});
