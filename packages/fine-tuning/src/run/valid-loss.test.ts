import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { validLoss } from './valid-loss.js';

const practice = new URL('../../../../apps/create/templates/practice/model', import.meta.url)
  .pathname;
const rowOf = (content: string) => ({
  messages: [
    { role: 'user', content },
    { role: 'assistant', content: '2' },
  ],
});

it('leaves out the rows that cannot be scored, and names their lines', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trinity-valid-loss-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const lossOf = async (...rows: readonly object[]) => {
    const file = path.join(folder, 'rows.jsonl');
    await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const skipped: string[] = [];
    const { signal } = new AbortController();
    const loss = await validLoss(practice, file, signal, (why) => void skipped.push(why));
    return { loss, skipped };
  };
  const [good, long] = [rowOf('1+1='), rowOf('1'.repeat(100_000))];
  const { loss } = await lossOf(good);
  expect(loss).toBeGreaterThan(0);
  expect(await lossOf(good, long, good)).toEqual({
    loss,
    skipped: [expect.stringMatching(/^Line 2: ./)],
  });
  const faulty = Array.from({ length: 6 }, () => ({ messages: [] }));
  expect(await lossOf(...faulty, good)).toEqual({
    loss,
    skipped: faulty.map((_, i) => expect.stringMatching(`^Line ${i + 1}: .`)),
  });
  await expect(lossOf(long)).rejects.toThrow('no row can be scored');
});
