/** Tests `trinity status` and `trinity why` on a trainer and explorers that are stopped in turn. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { openRunStore } from '@trinity-rft/buffer/run-store';
import {
  causesOf,
  openStatus,
  renderCauses,
  renderStatus,
  type RunStatus,
} from '@trinity-rft/inspect';
import { writeEnd } from '@trinity-rft/launcher/files';
import { describe, expect, it, vi } from 'vitest';
import { main } from '../src/main.js';
import { exitCodes } from '../src/shared/exit-codes.js';
import { startTrinity } from './support/trinity.js';
import { createWorkspace } from './support/workspace.js';

const patience = { timeout: 60_000, interval: 200 };

/** The newest whole line of `trinity status --watch --json`. */
function lastStatus(output: string): RunStatus | undefined {
  const line = output.split('\n').at(-2);
  return line === undefined ? undefined : (JSON.parse(line) as RunStatus);
}

describe('a trainer with two explorers', { tags: ['slow'] }, () => {
  it('is seen at work, and whoever is stopped is named as the cause', async () => {
    const workspace = await createWorkspace();
    const buffer = { total_steps: 100_000 };
    const config = workspace.config('apart.yaml', { name: 'apart', buffer });
    const args = ['run', config, '--plugin-dir', 'plugins', '--explorers', '2'];
    const running = startTrinity(workspace.root, args);
    const folder = path.join(workspace.root, 'runs', 'tests', 'apart');
    const look = async () => {
      const reader = await openStatus(folder);
      try {
        return await reader.look();
      } finally {
        await reader.close();
      }
    };
    const stopped = new Set<number>();
    try {
      const { members } = await vi.waitFor(async () => {
        const status = await look();
        expect(status.members.map(({ role }) => role).toSorted()).toEqual([
          'explorer',
          'explorer',
          'trainer',
        ]);
        expect(status.trainStep).toBeGreaterThan(1);
        return status;
      }, patience);
      expect(renderStatus(await look())).toContain('3 processes take part');
      const watching = startTrinity(workspace.root, ['status', folder, '--watch', '--json']);
      const healthOf = (pid: number): string | undefined =>
        lastStatus(watching.output())?.members.find((member) => member.pid === pid)?.health;
      for (const role of ['trainer', 'explorer'] as const) {
        const { pid, name } = members.find((member) => member.role === role)!;
        process.kill(pid, 'SIGSTOP');
        stopped.add(pid);
        const says = new RegExp(`CAUSE: .*${name} \\(process ${pid}.* is stopped`);
        await vi.waitFor(
          async () => expect(renderCauses(causesOf(await look()))).toMatch(says),
          patience,
        );
        await vi.waitFor(() => expect(healthOf(pid)).toBe('silent'), patience);
        process.kill(pid, 'SIGCONT');
        stopped.delete(pid);
        await vi.waitFor(() => expect(healthOf(pid)).toMatch(/working|waiting/), patience);
      }
      watching.child.kill('SIGINT');
      expect((await watching.ended).stderr).toBe('');
    } finally {
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
      running.child.kill('SIGINT');
      await running.ended;
    }
  });
});

it('stops watching when the only process of the run has ended', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-watched-'));
  const file = path.join(folder, 'status.json');
  const own = { pid: process.pid, host: hostname(), at: Date.now() };
  const waits = { explorer: [], trainer: [] };
  const progress = { exploreStep: 4, trainStep: 3, version: 2 };
  writeFileSync(file, JSON.stringify({ ...own, waits, progress }));
  await writeEnd(folder, { how: 'finished', trainStep: 3, at: Date.now() });
  const shown: string[] = [];
  const exitCode = await main(['status', folder, '--watch'], {
    out: (text) => {
      shown.push(text);
      rmSync(file, { force: true });
    },
    err: (text) => shown.push(text),
  });
  rmSync(folder, { recursive: true });
  expect(exitCode).toBe(0);
  expect(shown).toEqual([
    expect.stringContaining('train step'),
    expect.stringContaining('The last one finished after train step 3'),
  ]);
});

it('ends with an error when the folder of the watched run is removed', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-removed-'));
  const folder = path.join(root, 'project', 'run');
  mkdirSync(folder, { recursive: true });
  const store = await openRunStore({ url: path.join(folder, 'run.db'), run: 'project/run' });
  await store.join({ role: 'trainer', name: 't', host: hostname(), pid: process.pid });
  await store.close();
  const errors: string[] = [];
  const exitCode = await main(['status', folder, '--watch', '--json'], {
    out: () => rmSync(folder, { recursive: true, force: true }),
    err: (text) => errors.push(text),
  });
  rmSync(root, { recursive: true });
  expect(exitCode).toBe(exitCodes.userError);
  expect(errors.join('')).toContain(`There is no ${folder}.`);
});
