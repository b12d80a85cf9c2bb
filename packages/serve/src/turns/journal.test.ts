import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { openJournal } from './journal.js';
import type { EncodedCall } from './sqlite.js';

const folder = mkdtempSync(path.join(tmpdir(), 'trinity-journal-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newPath = (): string => path.join(folder, `${files++}.db`);

const call = (i: number, ...sizes: readonly number[]): EncodedCall => ({
  msgId: `m${i}`,
  session: 'später \u{1F600}',
  experiences: sizes.map((size, k) => new Uint8Array(size).fill(i + k)),
});
const ids = (calls: readonly EncodedCall[]): readonly string[] => calls.map(({ msgId }) => msgId);

describe('the journal', () => {
  it('gives back every call that is not settled, in order, whatever was written and settled before', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ size: fc.constantFrom(0, 5, 300_000) }),
        fc.record({ settle: fc.nat(8) }),
      ),
      {
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const file = newPath();
        const journal = openJournal(file);
        const [appended, settled] = [[] as EncodedCall[], { count: 0 }];
        for (const step of all) {
          if ('size' in step) {
            appended.push(call(appended.length, step.size, 1));
            journal.append(appended.at(-1)!);
          } else {
            const count = Math.min(step.settle, appended.length - settled.count);
            settled.count += count;
            journal.stored(count);
          }
        }
        // The journal is not closed, to simulate SIGKILL.
        const { left } = openJournal(file);
        expect(ids(left)).toEqual(ids(appended).slice(appended.length - left.length));
        expect(left.length).toBeGreaterThanOrEqual(appended.length - settled.count);
        expect(left.at(-1)).toEqual(left.length > 0 ? appended.at(-1) : undefined);
      }),
      { numRuns: 60 },
    );
  });

  it('keeps its files if it is closed before the calls of an earlier process are stored', () => {
    const file = newPath();
    openJournal(file).append(call(0, 5));
    openJournal(file).close();
    const { left, clear, close } = openJournal(file);
    expect(ids(left)).toEqual(['m0']);
    clear();
    close();
    expect(existsSync(`${file}-pending-0`)).toBe(false);
  });

  it('stays small while calls are settled a little later than they come', () => {
    const file = newPath();
    const journal = openJournal(file);
    for (let i = 0; i < 400; i++) {
      journal.append(call(i, 50_000));
      if (i >= 10) journal.stored(1);
    }
    const sizes = [0, 1].map((k) => readFileSync(`${file}-pending-${k}`).length);
    expect(Math.max(...sizes)).toBeLessThan(2_000_000);
    expect(ids(openJournal(file).left).slice(-10)).toEqual(
      Array.from({ length: 10 }, (_, i) => `m${390 + i}`),
    );
  });

  it.each([
    ['ends within a frame', (bytes: Buffer) => bytes.subarray(0, -1)],
    [
      'ends within the first numbers of a frame',
      (bytes: Buffer) => bytes.subarray(0, bytes.length / 2 + 3),
    ],
    ['has a wrong byte', (bytes: Buffer) => bytes.fill(99, bytes.length - 1)],
    [
      'ends in zeros',
      (bytes: Buffer) =>
        Buffer.concat([bytes.subarray(0, bytes.length / 2), Buffer.alloc(bytes.length)]),
    ],
  ])('gives the calls before the place where a file %s', (_, damage) => {
    const file = newPath();
    const journal = openJournal(file);
    journal.append(call(1, 40));
    journal.append(call(2, 40));
    const segment = `${file}-pending-0`;
    writeFileSync(segment, damage(readFileSync(segment)));
    expect(openJournal(file).left).toEqual([call(1, 40)]);
  });

  it('loses one call at most to a wrong byte, says how many, and keeps the damaged file', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 255 }), (place, change) => {
        const file = newPath();
        const journal = openJournal(file);
        for (let i = 0; i < 12; i++) journal.append(call(i, 40, 10));
        const segment = `${file}-pending-0`;
        const bytes = readFileSync(segment);
        bytes[place % bytes.length]! ^= change;
        writeFileSync(segment, bytes);
        const { left, damage, clear } = openJournal(file);
        clear();
        expect(left).toHaveLength(11);
        for (const one of left) expect(one).toEqual(call(Number(one.msgId.slice(1)), 40, 10));
        const kept = new Set(ids(left));
        const isAtEdge = !kept.has('m0') || !kept.has('m11');
        expect(damage).toMatchObject({ missing: isAtEdge ? 0 : 1 });
        expect(readFileSync(damage!.copies[0]!).equals(bytes)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('takes its files away when all is settled, and leaves them otherwise', () => {
    const file = newPath();
    const journal = openJournal(file);
    journal.append(call(1, 4));
    journal.close();
    const again = openJournal(file);
    expect(ids(again.left)).toEqual(['m1']);
    again.clear();
    again.append(call(2, 4));
    again.stored(1);
    again.close();
    expect(existsSync(`${file}-pending-0`)).toBe(false);
  });

  it('says which file cannot be opened', () => {
    const file = newPath();
    mkdirSync(`${file}-pending-0`);
    expect(() => openJournal(file)).toThrow(
      expect.objectContaining({
        code: 'SERVE_OPEN',
        message: expect.stringContaining(`${file}-pending-0`),
      }),
    );
  });

  it('continues after what an earlier process left', () => {
    const file = newPath();
    appendFileSync(`${file}-pending-1`, 'no frame at all, and longer than twenty bytes');
    const journal = openJournal(file);
    expect(journal.left).toEqual([]);
    journal.clear();
    journal.append(call(1));
    expect(openJournal(file).left).toEqual([call(1)]);
  });
});
