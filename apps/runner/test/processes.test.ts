/** Tests one trainer and several explorers in separate processes. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readExperiences } from '@trinity-rft/buffer';
import { runKey } from '@trinity-rft/core';
import { reportRun } from '@trinity-rft/inspect';
import { beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines, usedRows, weightsDigest } from './support/run-record.js';
import { runArgs, startTrinity, type Trinity } from './support/trinity.js';
import { createWorkspace, evalTasksets, type Tree, type Workspace } from './support/workspace.js';

const minutes = 60_000;

let workspace: Workspace;
let expected: ReturnType<typeof recordOf>;

/** Configuration that syncs weights after explore steps 3 and 5, with the trainer one step behind. */
const base: readonly Tree[] = [
  evalTasksets,
  {
    buffer: { explorer_input: { default_workflow_type: 'plain' } },
    explorer: { eval_on_startup: true, eval_interval: 2 },
    synchronizer: { sync_interval: 2, sync_offset: 1 },
    trainer: { save_interval: 2 },
  },
];

function recordOf(name: string) {
  const job = path.join(workspace.root, 'runs/tests', name);
  const lines = metricLines(job);
  return {
    digest: weightsDigest(job),
    explorer: lines.filter(({ role }) => role === 'explorer'),
    trainer: lines.filter(({ role }) => role === 'trainer'),
    rows: usedRows(path.join(job, 'buffer/experience_buffer.db')),
    answers: answersOf(path.join(job, 'evaluations/experiences.db')),
  };
}

/** Recorded answers of evaluations, with their rewards. */
function answersOf(file: string): readonly string[] {
  const reader = readExperiences(file);
  try {
    return [...reader.experiences()]
      .map(({ eid, reward, responseText }) => `${runKey(eid)} ${reward} ${responseText}`)
      .toSorted();
  } finally {
    reader.close();
  }
}

beforeAll(async () => {
  workspace = await createWorkspace();
  await runHere(workspace, workspace.config('both.yaml', ...base, { name: 'both' }));
  expected = recordOf('both');
}, 2 * minutes);

const argsOf = (name: string, ...args: readonly string[]): readonly string[] => [
  ...runArgs(workspace.config(`${name}.yaml`, ...base, { name })),
  ...args,
];
const start = (name: string, ...args: readonly string[]): Trinity =>
  startTrinity(workspace.root, argsOf(name, ...args));
/** Starts a process that waits at explore step 5 until the test ends it. */
const startHeld = (name: string, ...args: readonly string[]): Trinity =>
  startTrinity(workspace.root, argsOf(name, ...args), { env: { TEST_HOLD_FROM: '5' } });

const explorer = (name: string, who: string, begin = start): Trinity =>
  begin(name, '--mode', 'explore', '--explorer-name', who);

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await pause(50);
}

describe('explorers and a trainer as processes of their own', () => {
  it(
    'end with the weights, metrics and experiences of one process, whoever stops in between',
    async () => {
      const first = explorer('apart', 'first', startHeld);
      const trainer = start('apart', '--mode', 'train');
      await until(() => trainer.output().includes('step 2/6'));
      trainer.child.kill('SIGKILL');
      first.child.kill('SIGTERM');
      expect((await first.ended).exitCode).toBe(130);
      await trainer.ended;
      const others = ['second', 'third'].map((who) => explorer('apart', who));
      const again = start('apart', '--mode', 'train');
      const ends = await Promise.all([again, ...others].map(({ ended }) => ended));
      expect(ends.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
      expect(expected.answers).not.toEqual([]);
      expect(recordOf('apart')).toEqual(expected);
    },
    4 * minutes,
  );

  it(
    'continue after the trainer is killed and starts again from the initial weights',
    async () => {
      const config = workspace.config('killed.yaml', ...base, {
        name: 'killed',
        synchronizer: { sync_method: 'checkpoint', sync_interval: 1, sync_offset: 0 },
        trainer: { save_interval: 0 },
      });
      const side = (mode: string): Trinity =>
        startTrinity(workspace.root, [...runArgs(config), '--mode', mode]);
      const [one, trainer] = [side('explore'), side('train')];
      await until(() => trainer.output().includes('step 4/6'));
      trainer.child.kill('SIGKILL');
      await trainer.ended;
      const ends = await Promise.all([one, side('train')].map(({ ended }) => ended));
      expect(ends.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    },
    4 * minutes,
  );

  it(
    'are started and ended together by one command',
    async () => {
      const { exitCode } = await start('together', '--explorers', '2').ended;
      expect(exitCode).toBe(0);
      expect(recordOf('together').digest).toBe(expected.digest);
      const file = path.join(workspace.root, 'together.yaml');
      const check = ['config', 'check', file, '--plugin-dir', 'plugins'];
      const { stdout } = await startTrinity(workspace.root, check).ended;
      expect(stdout).not.toContain('changed from');
    },
    4 * minutes,
  );

  it(
    'begin a new run in one folder, which readers find, where the file continues none',
    async () => {
      const runs = path.join(workspace.root, 'runs/tests');
      workspace.write('runs/tests/fresh/earlier.txt', '');
      const config = workspace.config('fresh.yaml', ...base, {
        name: 'fresh',
        buffer: { total_steps: 1 },
        continue_from_checkpoint: false,
      });
      const { exitCode } = await startTrinity(workspace.root, [
        ...runArgs(config),
        ...['--explorers', '1'],
      ]).ended;
      expect(exitCode).toBe(0);
      const [fresh = '', ...others] = readdirSync(runs).filter((name) => name.startsWith('fresh_'));
      expect(others).toEqual([]);
      expect(readdirSync(path.join(runs, fresh))).toContain('explorers');
      expect(readdirSync(path.join(runs, 'fresh'))).toEqual(['earlier.txt']);
      const options = { cwd: workspace.root, pluginDirs: ['plugins'] };
      const { jobDirectory } = await reportRun(config, options);
      expect(jobDirectory).toBe(path.join(runs, fresh));
      const watching = startTrinity(workspace.root, ['status', config, '--watch']);
      watching.child.stdout?.once('data', () => watching.child.stdout?.destroy());
      expect((await watching.ended).exitCode).toBe(0);
    },
    4 * minutes,
  );

  it(
    'end together when the trainer alone is interrupted',
    async () => {
      const whole = startHeld('stopped', '--explorers', '2');
      await until(() => whole.output().includes('step 2/6'));
      const pid = readFileSync(path.join(workspace.root, 'runs/tests/stopped/run.pid'), 'utf8');
      expect(Number(pid)).not.toBe(whole.child.pid);
      process.kill(Number(pid), 'SIGTERM');
      expect((await whole.ended).exitCode).toBe(130);
    },
    4 * minutes,
  );

  it(
    'have names of their own: a second explorer of a name is refused, and the first waits on',
    async () => {
      const first = explorer('names', 'one');
      const pid = path.join(workspace.root, 'runs/tests/names/explorers/one/run.pid');
      await until(() => existsSync(pid));
      const twin = await explorer('names', 'one').ended;
      expect(twin.exitCode).toBe(2);
      expect(twin.stderr).toContain(`is in use by process ${first.child.pid}`);
      first.child.kill('SIGTERM');
      expect((await first.ended).exitCode).toBe(130);
    },
    4 * minutes,
  );
});
