import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { MetricRecord, MetricRole } from '@trinity-rft/core';
import { recordingLogger } from '@trinity-rft/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../test/folder.js';
import { jsonlLine, jsonlSink } from './jsonl-sink.js';
import { MonitorError } from './lines/monitor-error.js';
import type { ResumePoint } from './resume-point.js';

const inFolder = useFolder();
const read = (file: string): string => readFileSync(file, 'utf8');
const lines = (file: string): unknown[] =>
  read(file)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
const record = (role: MetricRole, step: number): MetricRecord => ({
  role,
  step,
  metrics: { 'a/b': step / 3 },
});

describe('jsonlLine', () => {
  it('sorts keys and puts what depends on the speed of the machine apart', () => {
    const metrics = {
      'rollout/b': 2,
      'perf/throughput': 9,
      'rollout/a': 0.1,
      'time/step': 3,
      'rollout/time/run': 4,
      'timing_per_token_ms/gen': 5,
    };
    expect(jsonlLine({ role: 'explorer', step: 7, metrics })).toBe(
      '{"role":"explorer","step":7,"metrics":{"rollout/a":0.1,"rollout/b":2},' +
        '"timing":{"perf/throughput":9,"rollout/time/run":4,"time/step":3,"timing_per_token_ms/gen":5}}\n',
    );
  });

  it('gives equal bytes for equal metrics, in whatever order they were made, and gives every number back exactly', () => {
    const metrics = fc.dictionary(
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    );
    fc.assert(
      fc.property(metrics, (values) => {
        const line = jsonlLine({ role: 'trainer', step: 1, metrics: values });
        expect(
          jsonlLine({
            role: 'trainer',
            step: 1,
            metrics: Object.fromEntries(Object.entries(values).toReversed()),
          }),
        ).toBe(line);
        const parsed = JSON.parse(line) as { metrics: object; timing: object };
        expect(new Map(Object.entries({ ...parsed.metrics, ...parsed.timing }))).toEqual(
          new Map(Object.entries(values)),
        );
      }),
    );
  });
});

describe('jsonlSink', () => {
  it('has written each record when write returns', async () => {
    const file = inFolder('deep', 'metrics.jsonl');
    const sink = jsonlSink({ path: file });
    sink.write(record('explorer', 1));
    expect(lines(file)).toHaveLength(1);
    sink.write(record('trainer', 1));
    expect(lines(file)).toEqual([
      { role: 'explorer', step: 1, metrics: { 'a/b': 1 / 3 }, timing: {} },
      { role: 'trainer', step: 1, metrics: { 'a/b': 1 / 3 }, timing: {} },
    ]);
    await sink.close();
    await sink.close();
  });

  it('writes numbers that are not finite as null and says so once per metric', async () => {
    const file = inFolder('metrics.jsonl');
    const logger = recordingLogger();
    const sink = jsonlSink({ path: file, logger });
    for (const step of [1, 2])
      sink.write({ role: 'trainer', step, metrics: { nan: NaN, infinite: -Infinity, fine: 1 } });
    expect(lines(file)[1]).toEqual({
      role: 'trainer',
      step: 2,
      metrics: { fine: 1, infinite: null, nan: null },
      timing: {},
    });
    expect(logger.messages('warn')).toEqual([
      'Metric nan is NaN at trainer step 1; it is written as null. This is reported once per metric.',
      'Metric infinite is -Infinity at trainer step 1; it is written as null. This is reported once per metric.',
    ]);
    await sink.close();
  });

  it('says which file it cannot write, and rejects records after close', async () => {
    writeFileSync(inFolder('file'), '');
    expect(() => jsonlSink({ path: inFolder('file', 'metrics.jsonl') })).toThrow(MonitorError);
    expect(() => jsonlSink({ path: inFolder('file', 'metrics.jsonl') })).toThrow(
      /metrics\.jsonl could not be written: .*writable/,
    );
    const sink = jsonlSink({ path: inFolder('metrics.jsonl') });
    await sink.close();
    expect(() => sink.write(record('trainer', 1))).toThrow(/after it was closed/);
  });
});

describe('resuming a metrics file', () => {
  it('drops records beyond the resume point of their role and a torn last line, and leaves nothing else behind', async () => {
    const file = inFolder('metrics.jsonl');
    const before = jsonlSink({ path: file });
    for (const role of ['explorer', 'trainer', 'bench'] as const)
      for (const step of [1, 2, 3]) before.write(record(role, step));
    await before.close();
    appendFileSync(file, jsonlLine(record('explorer', 4)).slice(0, -9));

    const after = jsonlSink({ path: file, resume: { explorer: 2, trainer: 1 } });
    after.write(record('trainer', 2));
    await after.close();
    const kept = [
      record('explorer', 1),
      record('explorer', 2),
      record('trainer', 1),
      record('bench', 1),
      record('bench', 2),
      record('bench', 3),
    ];
    expect(read(file)).toBe([...kept, record('trainer', 2)].map(jsonlLine).join(''));
    expect(readdirSync(inFolder())).toEqual(['metrics.jsonl']);
  });

  it('keeps the evaluation with which a run ended that has become longer, and no repeated one', async () => {
    const file = inFolder('metrics.jsonl');
    const explored = (step: number): MetricRecord => ({
      role: 'explorer',
      step,
      metrics: { 'time/wait_explore_step': 1 },
    });
    const evaluated = (step: number, version: number): MetricRecord => ({
      role: 'explorer',
      step,
      metrics: { 'eval/model_version': version },
    });
    const ended = [evaluated(0, 0), explored(1), explored(2), evaluated(3, 2)];
    const killed = [explored(3), evaluated(3, 3)];
    const write = async (records: readonly MetricRecord[], resume: ResumePoint): Promise<void> => {
      const sink = jsonlSink({ path: file, resume });
      records.forEach((each) => sink.write(each));
      await sink.close();
    };
    await write(ended, {});
    await write(killed, { explorer: 2, hadEnded: true });
    expect(read(file)).toBe([...ended, ...killed].map(jsonlLine).join(''));
    await write([], { explorer: 2, hadEnded: true });
    expect(read(file)).toBe(ended.map(jsonlLine).join(''));
    await write([], { explorer: 2 });
    expect(read(file)).toBe(ended.slice(0, 3).map(jsonlLine).join(''));
    await write([], { explorer: -1, hadEnded: true });
    expect(read(file)).toBe('');
  });

  it('keeps of the last explore step only its rollouts if its evaluation is made again', async () => {
    const file = inFolder('metrics.jsonl');
    const explored = (step: number): MetricRecord => ({
      ...record('explorer', step),
      metrics: { 'time/wait_explore_step': 1 },
    });
    const evaluated = (step: number) => record('explorer', step);
    const records = [explored(1), evaluated(1), explored(2), record('trainer', 2), evaluated(2)];
    writeFileSync(file, records.map(jsonlLine).join(''));
    for (const hadEnded of [true, false]) {
      await jsonlSink({
        path: file,
        resume: { explorer: 2, evaluationDue: true, hadEnded },
      }).close();
      expect(read(file)).toBe(records.slice(0, 4).map(jsonlLine).join(''));
    }
  });

  it('keeps a last line that lacks only its newline', async () => {
    const file = inFolder('metrics.jsonl');
    writeFileSync(file, jsonlLine(record('trainer', 1)).trimEnd());
    const sink = jsonlSink({ path: file });
    sink.write(record('trainer', 2));
    await sink.close();
    expect(read(file)).toBe(jsonlLine(record('trainer', 1)) + jsonlLine(record('trainer', 2)));
  });

  it('leaves a clean file alone, and makes none while trimming a missing one', async () => {
    const file = inFolder('metrics.jsonl');
    await jsonlSink({ path: file, resume: { trainer: 3 } }).close();
    expect(readdirSync(inFolder(''))).toEqual(['metrics.jsonl']);
    appendFileSync(file, `${jsonlLine(record('trainer', 3))}{"note":"somebody else's"}\n4\n`);
    const { ino } = statSync(file);
    await jsonlSink({ path: file, resume: { trainer: 3 } }).close();
    expect(statSync(file).ino).toBe(ino);
    expect(lines(file)).toHaveLength(3);
  });

  it('equals the uninterrupted file wherever the process is killed', async () => {
    const roles = fc.constantFrom<MetricRole>('explorer', 'trainer');
    let count = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(roles, { maxLength: 12 }),
        fc.nat(),
        fc.nat(3),
        fc.nat(3),
        async (order, cut, explorerLag, trainerLag) => {
          mkdirSync(inFolder(), { recursive: true });
          const file = inFolder(`${count++}.jsonl`);
          const steps = { explorer: 0, trainer: 0, bench: 0 };
          const records = order.map((role) => record(role, ++steps[role]));
          const whole = records.map(jsonlLine).join('');
          // A kill leaves any number of whole lines and a part of one; the run resumes at or before
          // what was written.
          const left = whole.slice(0, cut % (whole.length + 1));
          writeFileSync(file, left);
          const written = (role: MetricRole): number =>
            records.filter(
              (item, index) =>
                item.role === role &&
                left.length >=
                  whole
                    .split('\n')
                    .slice(0, index + 1)
                    .join('\n').length,
            ).length;
          const resume = {
            explorer: Math.max(0, written('explorer') - explorerLag),
            trainer: Math.max(0, written('trainer') - trainerLag),
          };
          const sink = jsonlSink({ path: file, resume });
          for (const item of records)
            if (item.step > resume[item.role as 'explorer' | 'trainer']) sink.write(item);
          await sink.close();

          const linesOf = (text: string, role: MetricRole): string[] =>
            text.split('\n').filter((line) => line.startsWith(`{"role":"${role}"`));
          for (const role of ['explorer', 'trainer'] as const)
            expect(linesOf(read(file), role)).toEqual(linesOf(whole, role));
          expect(read(file)).toHaveLength(whole.length);
        },
      ),
    );
  });
});
