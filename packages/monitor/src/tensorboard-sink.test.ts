import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { manualClock } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../test/folder.js';
import { maskedCrc32c } from './crc32c.js';
import { tensorBoardSink } from './tensorboard-sink.js';

const inFolder = useFolder();
const fixtures = path.join(import.meta.dirname, '../test/fixtures/tensorboard');
const start = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

/**
 * Writes the records of two processes of one run. The second one resumes from explore step 3 and
 * train step 2.
 */
async function writeRun(directory: string): Promise<void> {
  const clock = manualClock(start);
  const first = tensorBoardSink({ directory, clock });
  for (let step = 1; step <= 4; step++) {
    first.write({
      role: 'explorer',
      step,
      metrics: { 'rollout/reward/mean': step / 8, 'rollout/model_version': step - 1 },
    });
    await clock.advance(250);
    first.write({
      role: 'trainer',
      step,
      metrics: {
        'actor/final_loss': -0.1 * step,
        'perf/throughput': 1234.5,
        'actor/größe': step === 2 ? NaN : 1e-7,
      },
    });
    await clock.advance(1000);
  }
  await first.close();
  const second = tensorBoardSink({ directory, clock, resume: { explorer: 3, trainer: 2 } });
  for (let step = 3; step <= 5; step++) {
    if (step > 3)
      second.write({ role: 'explorer', step, metrics: { 'rollout/reward/mean': step / 4 } });
    second.write({ role: 'trainer', step, metrics: { 'actor/final_loss': step } });
    await clock.advance(500);
  }
  second.write({ role: 'bench', step: 2 ** 33, metrics: { 'bench/gsm8k/reward/mean@4': 0.5 } });
  await second.close();
}

const filesUnder = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();

describe('tensorBoardSink', () => {
  // The fixture was read back with tensorboard 2.21's EventAccumulator: it returned every value of
  // `writeRun` except those beyond the resume points.
  it('writes, byte for byte, the files that TensorBoard itself was seen to read', async () => {
    await writeRun(inFolder());
    expect(filesUnder(inFolder())).toEqual(filesUnder(fixtures));
    for (const file of filesUnder(fixtures))
      expect(readFileSync(inFolder(file))).toEqual(readFileSync(path.join(fixtures, file)));
  });

  it('frames every event with its length and two checksums', async () => {
    const sink = tensorBoardSink({ directory: inFolder(), clock: manualClock(start) });
    sink.write({ role: 'trainer', step: 300, metrics: { x: 0.5 } });
    await sink.close();
    const bytes = readFileSync(inFolder(filesUnder(inFolder())[0]!));
    const payloads: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const length = Number(bytes.readBigUInt64LE(at));
      const payload = bytes.subarray(at + 12, at + 12 + length);
      expect(bytes.readUInt32LE(at + 8)).toBe(maskedCrc32c(bytes.subarray(at, at + 8)));
      expect(bytes.readUInt32LE(at + 12 + length)).toBe(maskedCrc32c(payload));
      payloads.push(payload);
      at += 16 + length;
    }
    const wallTime = Buffer.alloc(8);
    wallTime.writeDoubleLE(start / 1000);
    const time = `09${wallTime.toString('hex')}`;
    expect(payloads.map((payload) => payload.toString('hex'))).toEqual([
      `${time}1a0d${Buffer.from('brain.Event:2').toString('hex')}`,
      // Step 300 = 0xac 0x02; a summary of one value: tag "x", simple value 0.5.
      `${time}10ac02${'2a0a'}${'0a08'}${'0a0178'}${'150000003f'}`,
    ]);
  });

  it('makes a folder only for roles that write, and a file of its own in the same second', async () => {
    const clock = manualClock(start);
    for (let process = 0; process < 2; process++) {
      const sink = tensorBoardSink({ directory: inFolder(), clock });
      sink.write({ role: 'trainer', step: 1, metrics: {} });
      await sink.close();
    }
    expect(filesUnder(inFolder())).toEqual([
      'trainer/events.out.tfevents.1767323045.0000',
      'trainer/events.out.tfevents.1767323045.0001',
    ]);
  });

  it('says what it cannot write, and rejects records after close', async () => {
    mkdirSync(inFolder('tb'));
    writeFileSync(inFolder('tb', 'trainer'), '');
    const sink = tensorBoardSink({ directory: inFolder('tb'), clock: manualClock(start) });
    expect(() => sink.write({ role: 'trainer', step: 1, metrics: {} })).toThrow(
      /could not be written .*writable/,
    );
    await sink.close();
    expect(() => sink.write({ role: 'explorer', step: 1, metrics: {} })).toThrow(
      /after they were closed/,
    );
  });
});
