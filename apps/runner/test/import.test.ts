/** Tests `trinity import`, and training on its output. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { ImportReport } from '@trinity-rft/import';
import { beforeAll, describe, expect, it } from 'vitest';
import { finishHere } from './support/run-here.js';
import { trinity, type Ended } from './support/trinity.js';
import { createWorkspace, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});

const command = (...args: readonly string[]): Promise<Ended> =>
  trinity(workspace.root, 'import', ...args);

const sums = Array.from({ length: 20 }, (_, i) => ({
  conversations: [
    { from: 'human', value: `${i}+${i}=` },
    { from: 'gpt', value: `${2 * i}` },
  ],
}));
const lines = (records: readonly unknown[]): string =>
  records.map((record) => JSON.stringify(record)).join('\n');

describe('trinity import', () => {
  it('writes rows that a run trains on, a report and a part for validation', async () => {
    workspace.write('old.jsonl', lines([...sums, sums[0], { conversations: [] }]));
    const args = ['--tokenizer', 'model', '--validation', '0.2', '--report', 'report.json'];
    const { exitCode, stdout, stderr } = await command('old.jsonl', ...args, '-o', 'new.jsonl');
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Source: sharegpt\n/);
    expect(stdout).toContain('1 x the list of messages is empty: old.jsonl:22');
    const report = JSON.parse(workspace.read('report.json')) as ImportReport;
    expect(report).toMatchObject({ as: 'sft', read: 22, written: 20, duplicates: 1 });
    expect(report.tokens?.total).toBeGreaterThan(20);
    expect(workspace.read('new.validation.jsonl').trim().split('\n')).toHaveLength(
      report.validation,
    );
    await finishHere(workspace, 'imported', {
      mode: 'train',
      algorithm: { algorithm_type: 'sft' },
      buffer: {
        train_batch_size: 4,
        total_epochs: 1,
        trainer_input: {
          experience_buffer: { name: 'rows', storage_type: 'file', path: 'new.jsonl' },
        },
      },
    });
  });

  it.each<readonly [readonly string[], string]>([
    [['nowhere.jsonl'], 'nowhere.jsonl cannot be read'],
    [['tasks.jsonl', '--from', 'otle'], '--from is "otle". Expected one of auto, otel'],
    [['tasks.jsonl', '--as', 'rl'], '--as is "rl". Expected one of sft, dpo, tasks'],
    [['tasks.jsonl', '--score', 'quality'], '--score quality needs --as dpo'],
    [['tasks.jsonl', '--validation', '1'], '--validation is "1"'],
    [['unknown.jsonl'], 'no source recognises the records'],
    [['tasks.jsonl', '-o', '-'], '-o is "-", which cannot be written: standard output'],
    [['tasks.jsonl', '--report', 'model'], '--report is "model", which cannot be written: it is a'],
    [['tasks.jsonl', '--from', 'otel'], 'nothing could be imported as otel'],
  ])('ends with 2 for %j', async (args, problem) => {
    workspace.write('unknown.jsonl', '{"word": "dog"}\n');
    const { exitCode, stderr } = await command('-o', 'out.jsonl', ...args);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(problem)]);
    for (const name of ['out.jsonl', '-'])
      expect(existsSync(path.join(workspace.root, name))).toBe(false);
  });

  it('leaves no folders behind when the input is mistyped', async () => {
    const outputs = ['-o', 'new-rows/out.jsonl', '--report', 'new-reports/deep/report.json'];
    const { exitCode, stderr } = await command('nowhere.jsonl', ...outputs);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('nowhere.jsonl')]);
    for (const name of ['new-rows', 'new-reports'])
      expect(existsSync(path.join(workspace.root, name))).toBe(false);
  });

  it('does not take - for a file', async () => {
    const { exitCode, stderr } = await command('tasks.jsonl', '-o', '-');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('-o is "-"')]);
    expect(existsSync(path.join(workspace.root, '-'))).toBe(false);
  });
});
