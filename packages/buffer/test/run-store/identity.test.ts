/** Identity of a run in a store that outlives the run's folder. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { findPostgres, startPostgres, type TestPostgres } from '@trinity-rft/test-support';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openRunStore, readRunStore, type RunClaim } from '../../src/run-store/index.js';

const claimOf = (over: Partial<RunClaim> = {}): RunClaim => ({
  role: 'trainer',
  id: 'first',
  host: 'here',
  folder: '/runs/a',
  place: 'shared.db',
  settings: { seed: '7' },
  hasBegun: false,
  isAt: () => false,
  ...over,
});
const otherRun = claimOf({ id: 'second', folder: '/runs/b', settings: { seed: '8' } });

const suites: readonly ('SQLite' | 'PostgreSQL')[] =
  findPostgres() === undefined ? ['SQLite'] : ['SQLite', 'PostgreSQL'];

describe.each(suites)('a run in a shared store in %s', (kind) => {
  let server: TestPostgres | undefined;
  const folder = mkdtempSync(join(tmpdir(), 'trinity-identity-'));
  beforeAll(async () => {
    if (kind === 'PostgreSQL') server = await startPostgres();
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  let runs = 0;
  const nextRun = (): string => `run ${(runs += 1)}`;
  const url = (): string => server?.url() ?? join(folder, 'shared.db');
  const open = async (run: string, claim?: RunClaim) => {
    const store = await openRunStore({ url: url(), run, claim });
    onTestFinished(() => store.close());
    return store;
  };
  type Joining = Pick<RunClaim, 'role' | 'settings'>;
  const joinAs = (store: Awaited<ReturnType<typeof open>>, { role, settings }: Joining) =>
    store.join({ role, name: role, host: 'here', pid: 1, agreement: settings });
  /** A process that has planned an explore step and has ended. */
  const begun = async (run: string, claim: RunClaim): Promise<void> => {
    const store = await open(run, claim);
    const member = await joinAs(store, claim);
    await store.plan(member, { step: 1, batches: [], feed: {} });
    await store.recordTrainStep(member, { trainStep: 1, trained: [], discarded: [] });
    await store.leave(member);
  };

  it('refuses another folder, with both folders and settings, when no process is alive', async () => {
    const run = nextRun();
    await begun(run, claimOf());
    await expect(open(run, otherRun)).rejects.toMatchObject({
      code: 'RUN_DIFFERS',
      message: expect.stringMatching(
        /a trainer in \/runs\/a on here, and the folder of this trainer is \/runs\/b, .* seed is 8 here and 7 there.*--new-run/,
      ),
    });
    await expect(open(run, { ...otherRun, role: 'explorer' })).rejects.toThrow(/\/runs\/a/);
    await expect(open(run, { ...otherRun, host: 'there' })).rejects.toThrow(/\/runs\/b on there/);
    await expect(open(run, { ...otherRun, folder: '/runs/a' })).rejects.toThrow(
      /deleted or emptied/,
    );
    await open(`${run}, named otherwise`, otherRun);
    await open(run, claimOf());
  });

  it('is continued from a folder that was moved, and from one of two copies', async () => {
    const run = nextRun();
    await begun(run, claimOf());
    const moved = claimOf({ folder: '/runs/moved' });
    const isAt = (place: string, id: string): boolean => place === '/runs/a' && id === 'first';
    await expect(open(run, { ...moved, isAt })).rejects.toThrow(/\/runs\/moved is a copy/);
    await open(run, { ...moved, isAt, place: 'a copy of shared.db' });
    await joinAs(await open(run, moved), moved);
    await open(run, { ...moved, isAt });
  });

  it('takes explorers of other machines, and of one folder, if their settings agree', async () => {
    const run = nextRun();
    await begun(run, claimOf());
    const there = { ...otherRun, role: 'explorer', host: 'there' } as const;
    const store = await open(run, there);
    await expect(joinAs(store, there)).rejects.toMatchObject({
      code: 'MEMBER_DIFFERS',
      message: expect.stringMatching(/its seed is 8, and that of the run, .* is 7/),
    });
    await store.leave(await joinAs(store, { ...there, settings: { seed: '7' } }));
    const here = claimOf({ role: 'explorer', settings: { seed: '8' } });
    await expect(joinAs(await open(run, here), here)).rejects.toThrow(/its seed is 8/);
  });

  it('has the settings of its trainer, and before it those of its first explorer', async () => {
    const run = nextRun();
    await begun(run, claimOf({ role: 'explorer' }));
    const trainer = claimOf({ host: 'there', id: 'there', folder: '/runs/there' });
    const other = { ...trainer, settings: { seed: '9' } };
    await expect(joinAs(await open(run, other), other)).rejects.toThrow(
      /which its explorer has set/,
    );
    const store = await open(run, trainer);
    await store.leave(await joinAs(store, trainer));
    const changed = { ...trainer, settings: { seed: '10' } };
    const again = await open(run, changed);
    await again.leave(await joinAs(again, changed));
    const explorer = claimOf({ role: 'explorer', settings: { seed: '10' } });
    await joinAs(await open(run, explorer), explorer);
  });

  it('is set aside when the new one asks for it, but not while a process is at work', async () => {
    const run = nextRun();
    await begun(run, claimOf());
    const anew = { ...otherRun, startsOver: true };
    const old = await open(run, claimOf());
    const member = await joinAs(old, claimOf());
    await expect(open(run, anew)).rejects.toThrow(
      /while its trainer trainer \(process 1 on here\)/,
    );
    await old.leave(member);
    await expect(open(run, { ...anew, hasBegun: true })).rejects.toThrow(/cannot start over in it/);
    const reader = await readRunStore({ url: url(), run });
    const fresh = await open(run, anew);
    expect((await fresh.view()).trainStep).toBe(0);
    expect((await reader?.view())?.trainStep).toBe(0);
    await reader?.close();
    await open(run, anew);
    expect((await old.view()).trainStep).toBe(1);
    await expect(open(run, claimOf({ hasBegun: true }))).rejects.toThrow(/\/runs\/b/);
  });

  it('gets an identity when it has none, unless its steps are of another run', async () => {
    const run = nextRun();
    const earlier = await open(run);
    const member = await joinAs(earlier, claimOf());
    await earlier.plan(member, { step: 1, batches: [], feed: {} });
    await earlier.recordTrainStep(member, { trainStep: 1, trained: [], discarded: [] });
    await earlier.leave(member);
    await expect(open(run, otherRun)).rejects.toThrow(/holds train steps of an earlier run/);
    await open(run, { ...otherRun, role: 'explorer' });
    await open(run, claimOf({ hasBegun: true }));
    await expect(open(run, { ...otherRun, hasBegun: true })).rejects.toThrow(/\/runs\/a on here/);
  });
});

it('refuses an identity that was changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trinity-identity-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const url = join(folder, 'run.db');
  await (await openRunStore({ url, run: 'r', claim: claimOf() })).close();
  const database = new DatabaseSync(url);
  database.exec(`UPDATE run SET identity = replace(identity, '/runs/a', '/runs/c')`);
  await expect(openRunStore({ url, run: 'r', claim: claimOf() })).rejects.toMatchObject({
    code: 'STORE_DAMAGED',
  });
  database.exec(
    'ALTER TABLE run DROP COLUMN identity; ALTER TABLE batch DROP COLUMN checksum; UPDATE schema_version SET version = 1',
  );
  database.close();
  expect(await readRunStore({ url, run: 'r' })).toBeDefined();
  await (await openRunStore({ url, run: 'r', claim: claimOf() })).close();
});
