import { appendFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../test/folder.js';
import { jsonlSink } from './jsonl-sink.js';
import { MonitorError } from './lines/monitor-error.js';
import { readCurve } from './read-curve.js';

const inFolder = useFolder();

describe('readCurve', () => {
  it('gives the values of one role in the order of the file, timing too, without what is missing, not finite or torn', async () => {
    const file = inFolder('metrics.jsonl');
    const sink = jsonlSink({ path: file });
    for (const [step, a] of [0.5, NaN, 0.75].entries())
      sink.write({ role: 'explorer', step, metrics: { a, 'time/step': step } });
    sink.write({ role: 'trainer', step: 3, metrics: { a: 9 } });
    sink.write({ role: 'explorer', step: 4, metrics: { b: 9 } });
    await sink.close();
    appendFileSync(file, '{"role":"explorer","step":5,"metrics":{"a":1');
    expect(await readCurve(file, { role: 'explorer', metric: 'a' })).toEqual([0.5, 0.75]);
    expect(await readCurve(file, { role: 'explorer', metric: 'time/step' })).toEqual([0, 1, 2]);
    expect(await readCurve(file, { role: 'bench', metric: 'a' })).toEqual([]);
  });

  it.each([
    ['is not there', undefined],
    ['holds something else', 'step,reward\n'],
  ])('names a file that %s', async (_, content) => {
    const file = inFolder('metrics.jsonl');
    if (content !== undefined) writeFileSync(file, content);
    const reading = readCurve(file, { role: 'explorer', metric: 'a' });
    await expect(reading).rejects.toBeInstanceOf(MonitorError);
    await expect(reading).rejects.toThrow(
      /^No metrics can be read from .*metrics\.jsonl: .*Expected the metrics\.jsonl of a run\.$/,
    );
  });
});
