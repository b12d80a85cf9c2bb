/** Tests `trinity status` and `trinity why` with real processes that are stopped, killed, or wait. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { findPostgres, startPostgres } from '@trinity-rft/test-support';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openRunStore } from '@trinity-rft/buffer/run-store';
import { lockRun, openProcessFile, writeEnd, writeFailure } from '@trinity-rft/launcher/files';
import { describeError, EngineError } from '@trinity-rft/core';
import { causesOf, type RunCauses } from '../src/status/causes.js';
import { readProcessFile } from '../src/status/read-process-file.js';
import { openStatus } from '../src/status/read-status.js';
import { renderCauses, renderStatus } from '../src/status/render-status.js';
import { membersOf } from '../src/status/run-status.js';

const script = path.join(import.meta.dirname, 'support', 'member.ts');
const register = path.join(import.meta.dirname, '../../../tools/register-source.mjs');
const patience = { timeout: 60_000, interval: 100 };

let folder: string;
let children: ChildProcess[];
beforeEach(() => {
  folder = path.join(mkdtempSync(path.join(tmpdir(), 'trinity-status-')), 'project', 'run');
  mkdirSync(folder, { recursive: true });
  children = [];
});
afterEach(async () => {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }),
  );
  rmSync(path.dirname(path.dirname(folder)), { recursive: true, force: true, maxRetries: 3 });
});

/** Starts a process of the run; resolves once it has joined. */
async function member(...args: readonly string[]): Promise<ChildProcess> {
  const node = ['--conditions=@trinity-rft/source', '--import', register, script];
  const store = [path.join(folder, 'run.db'), 'project/run'];
  const child = spawn(process.execPath, [...node, ...store, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout!, 'data');
  return child;
}

async function why(): Promise<RunCauses> {
  const reader = await openStatus(folder);
  try {
    return causesOf(await reader.look());
  } finally {
    await reader.close();
  }
}

/** Trainer t and explorers e1 and e2, of which e1 has a task. */
async function threeProcesses() {
  const trainer = await member('trainer', 't', 'the tasks of explore step 1', 'explorer');
  const working = await member('explorer', 'e1', '', '', '1');
  const idle = await member('explorer', 'e2', 'weights for explore step 2', 't');
  return { trainer, working, idle };
}

/** Waits until `trinity why` names a silent process as the cause, as `says` describes it. */
const untilSilent = (says: RegExp): Promise<void> =>
  vi.waitFor(async () => {
    const causes = await why();
    const links = causes.chains.map((chain) => chain.links.at(-1));
    expect(links.map((link) => link?.state)).toContain('silent');
    expect(renderCauses(causes)).toMatch(says);
  }, patience);

const nobodySilent = (): Promise<void> =>
  vi.waitFor(async () => expect(renderCauses(await why())).not.toContain('silent'), patience);

describe('why', () => {
  it(
    'names each process that is stopped or killed, with the tasks that it holds',
    { tags: ['slow'] },
    async () => {
      const { trainer, working, idle } = await threeProcesses();
      const cases = [
        [trainer, 'SIGSTOP', /CAUSE: trainer t .* is stopped/],
        [working, 'SIGSTOP', /CAUSE: explorer e1 .* is stopped.*it has 1 task: 1\/0/],
        [working, 'SIGKILL', /CAUSE: explorer e1 .* is gone.*it has 1 task: 1\/0/],
      ] as const;
      for (const [child, signal, says] of cases) {
        child.kill(signal);
        await untilSilent(says);
        child.kill('SIGCONT');
        if (signal === 'SIGSTOP') await nobodySilent();
      }
      trainer.kill('SIGKILL');
      idle.kill('SIGKILL');
      await vi.waitFor(
        async () => expect(renderCauses(await why()).match(/is gone/g)).toHaveLength(3),
        patience,
      );
    },
  );

  it('is followed when its folder is replaced, until it is removed', async () => {
    const start = async (name: string): Promise<void> => {
      mkdirSync(folder, { recursive: true });
      const store = await openRunStore({ url: path.join(folder, 'run.db'), run: 'project/run' });
      await store.join({ role: 'trainer', name, host: hostname(), pid: process.pid });
      await store.close();
    };
    await start('old');
    const reader = await openStatus(folder);
    const names = async () => (await reader.look()).members.map(({ name }) => name);
    expect(await names()).toEqual(['old']);
    rmSync(folder, { recursive: true });
    await start('new');
    expect(await Promise.all([names(), names()])).toEqual([['new'], ['new']]);
    // The last connection removes the log.
    expect(existsSync(path.join(folder, 'run.db-wal'))).toBe(false);
    rmSync(folder, { recursive: true });
    await expect(names()).rejects.toThrow(/There is no /);
    await reader.close();
  });

  it('says which role is missing, follows waits to the process that works, and finds circles', async () => {
    await member('trainer', 't', 'the tasks of explore step 1', 'explorer');
    expect(renderCauses(await why())).toContain('CAUSE: there is no explorer. Start one');
    await member('explorer', 'e2', 'weights for explore step 2', 't');
    expect(renderCauses(await why())).toContain('they wait for one another');
    await member('explorer', 'e1', '', '', '1');
    expect(renderCauses(await why())).toMatch(
      /explorer e2 .*\n {2}waits for weights for explore step 2, for .*: trainer t .*\n {4}waits for the tasks of explore step 1, .*: explorer e1 .* is at work/,
    );
    const reader = await openStatus(folder);
    const status = await reader.look();
    await reader.close();
    const text = renderStatus(status);
    expect(text).toContain('1 open, 1 in progress, 0 done');
    expect(text).toMatch(
      /explorer e1 \(process \d+ on .*\): working\n {4}weights 0, works on 1\/0/,
    );
    expect(text).toMatch(/waits for the tasks of explore step 1 \(explorer\), for \d/);
    expect(JSON.parse(JSON.stringify(status))).toMatchObject({ plannedUpTo: 1, trainStep: 0 });
    // After the end, a process that was killed before it delays nothing.
    const killed = status.members.map((each) => ({ ...each, health: 'silent' as const }));
    const ended = causesOf({ ...status, members: killed, end: { trainStep: 6 } });
    expect(renderCauses(ended)).toBe('The run is complete: train step 6 was its last.\n');
  });
});

describe.skipIf(findPostgres() === undefined)('a run whose processes meet in PostgreSQL', () => {
  it('is found by its folder, which keeps no password', { timeout: 120_000 }, async () => {
    const server = await startPostgres();
    try {
      const run = 'project/run';
      const store = await openRunStore({ url: server.url(), run });
      await store.join({ role: 'trainer', name: 't', host: hostname(), pid: process.pid });
      await store.close();
      const url = new URL(server.url());
      url.password = '';
      writeFileSync(path.join(folder, 'store.json'), JSON.stringify({ url, run }));
      vi.stubEnv('PGPASSWORD', undefined);
      const refused = await openStatus(folder).then(() => 'opened', String);
      expect(refused).toMatch(/asks for a password.*name the configuration of the run/);
      expect(refused.split('asks for a password')).toHaveLength(2);
      expect(refused).not.toContain('secret');
      vi.stubEnv('PGPASSWORD', server.password);
      const reader = await openStatus(folder);
      expect((await reader.look()).members).toMatchObject([{ name: 't', pid: process.pid }]);
      await reader.close();
    } finally {
      vi.unstubAllEnvs();
      await server.stop();
    }
  });
});

describe('status', () => {
  it.each([
    ['a process that beats', 'here', process.pid, 1100, 'working'],
    ['a process that has missed two beats', 'here', process.pid, 3001, 'silent'],
    ['a process that is gone', 'here', 2 ** 30, 0, 'silent'],
    ['a process of another machine', 'elsewhere', 2 ** 30, 3000, 'working'],
  ] as const)('says how %s is, within 5 s', (_what, host, pid, silentForMs, health) => {
    const common = { epoch: 1, version: 0, waits: [], facts: {}, delivery: undefined };
    const beats = { host, pid, silentForMs, isAlive: true, hasLeft: false };
    const view = { ...common, ...beats, role: 'explorer', name: 'e' } as const;
    expect(membersOf({ members: [view], leases: [] }, 'here')[0]?.health).toBe(health);
  });

  it('shows the two halves of a run that one process makes', async () => {
    const progress = { exploreStep: 4, trainStep: 3, version: 2 };
    const file = openProcessFile(folder, () => progress);
    const endWait = file.wait('trainer', { what: 'experiences', on: 'explorer' });
    await vi.waitFor(
      async () => expect(renderCauses(await why())).toContain('waits for experiences'),
      patience,
    );
    const reader = await openStatus(folder);
    const status = await reader.look();
    expect(status).toMatchObject({ trainStep: 3, plannedUpTo: 4, staleness: 1 });
    expect(renderStatus(status)).toContain(' 1 process takes part');
    endWait();
    file.close();
    await expect(openStatus(folder)).rejects.toThrow(/No run was started in /);
    await (
      await lockRun(folder)
    )();
    await expect(openStatus(folder)).rejects.toThrow(/No process makes the run/);
  });

  it('does not look up the process of another machine on this one', async () => {
    const beat = { pid: 2 ** 30, host: 'elsewhere', at: Date.now() };
    const facts = {
      waits: { explorer: [], trainer: [] },
      progress: { exploreStep: 4, trainStep: 3, version: 2 },
    };
    writeFileSync(path.join(folder, 'status.json'), JSON.stringify({ ...beat, ...facts }));
    const { members } = await readProcessFile(folder);
    expect(members.map(({ isAlive, health }) => [isAlive, health])).toEqual([
      [true, 'working'],
      [true, 'working'],
    ]);
  });

  it('says after which step a process was killed, and that the run continues', async () => {
    const beat = { pid: 2 ** 30, host: hostname(), at: Date.now() };
    const facts = {
      waits: { explorer: [], trainer: [] },
      progress: { exploreStep: 4, trainStep: 3, version: 2 },
    };
    writeFileSync(path.join(folder, 'status.json'), JSON.stringify({ ...beat, ...facts }));
    await expect(openStatus(folder)).rejects.toThrow(
      /Continue it with "trinity run".* process 1073741824, was killed or crashed after train step 3, on 2\S+ at \S+\.$/,
    );
    await writeEnd(folder, { how: 'failed', at: Date.now() });
    await expect(openStatus(folder)).rejects.toThrow(/The last one failed, on 2/);
  });

  it('is absent from a file that was cut off', async () => {
    writeFileSync(path.join(folder, 'status.json'), '');
    await expect(openStatus(folder)).rejects.toThrow(/^No run was started in /);
  });

  it.each([
    ['serve', 'run', /^Process \d+ serves the run in .*GET \/metrics/],
    ['both', 'serve', /^Process \d+ serves the run in .*GET \/metrics/],
    ['bench', 'run', /^Process \d+ evaluates the run in /],
    ['train', 'run', /^Process \d+ trains the run in /],
    ['both', 'run', /^Process \d+ is starting or ending .*Try again in some seconds/],
  ] as const)(
    'names the process of a run of mode %s that writes no status (%s)',
    async (mode, role, says) => {
      const stages = [{ mode }];
      writeFileSync(
        path.join(folder, 'settings.json'),
        JSON.stringify({ jobDirectory: folder, stages }),
      );
      const unlock = await lockRun(folder, role);
      const refused = await openStatus(folder).then(() => 'opened', describeError);
      await unlock();
      expect(refused).toMatch(says);
      expect(refused).not.toContain('Start it');
    },
  );

  it.each(['both', 'train', 'serve'])(
    'names an evaluation of a run of mode %s, and how the run ended',
    async (mode) => {
      const settings = { jobDirectory: folder, stages: [{ mode }] };
      writeFileSync(path.join(folder, 'settings.json'), JSON.stringify(settings));
      await writeEnd(folder, { how: 'finished', trainStep: 9, at: Date.now() });
      const unlock = await lockRun(folder);
      const refused = await openStatus(folder).then(() => 'opened', describeError);
      await unlock();
      expect(refused).toMatch(
        /^Process \d+ evaluates the run in .* The last training run finished after train step 9, on /,
      );
      expect(refused).not.toContain('Try again');
    },
  );

  it.each([
    ['both', /Continue it with "trinity run".* The last one recorded no end, so it was killed/],
    ['train', /Continue it with "trinity run".* The last one recorded no end, so it was killed/],
    ['serve', /Continue it with "trinity run".* The last one recorded no end, so it was killed/],
    ['bench', /Start it with "trinity run".* what happened in it\.$/],
  ])('says that a run of mode %s without an end or a status was killed', async (mode, says) => {
    const settings = { jobDirectory: folder, stages: [{ mode }] };
    writeFileSync(path.join(folder, 'settings.json'), JSON.stringify(settings));
    const unlock = await lockRun(folder);
    await unlock();
    await expect(openStatus(folder)).rejects.toThrow(says);
  });

  it('of a folder that is not there is an error', async () => {
    await expect(openStatus(path.join(folder, 'other'))).rejects.toThrow(/There is no .*other/);
  });
});

describe('the status of a run that no process makes', () => {
  const at = Date.now();
  it.each([
    [
      { how: 'finished', trainStep: 12, at },
      /The last one finished after train step 12, on 2\S+ at \S+\.$/,
    ],
    [
      { how: 'interrupted', by: 'SIGTERM', trainStep: 3, at },
      /was stopped by SIGTERM after train step 3, on/,
    ],
    [{ how: 'interrupted', by: 'a page', at }, /was stopped by a page, on/],
    [{ how: 'failed', at }, /The last one failed, on 2.*: EngineError: no memory$/],
  ] as const)('says how it ended: %j', async (end, says) => {
    const ended = mkdtempSync(path.join(folder, 'ended-'));
    if (end.how === 'failed') await writeFailure(ended, new EngineError('no memory'));
    await writeEnd(ended, end);
    await expect(openStatus(ended)).rejects.toThrow(says);
    const verb = end.how === 'finished' ? 'Start' : 'Continue';
    await expect(openStatus(ended)).rejects.toThrow(`${verb} it with "trinity run"`);
  });
});
