import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { type Experience, actionCount } from '@trinity-rft/core';
import { decodeExperience, encodeExperience } from '@trinity-rft/core/store';
import { verifyRun } from '@trinity-rft/inspect';
import { beforeAll, describe, expect, it } from 'vitest';
import { mainHere } from './support/main-here.js';
import { finishHere } from './support/run-here.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
let config: string;
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const database = (name: string): string => path.join(job(name), 'buffer/experience_buffer.db');

/** Configuration of an agent with several turns and its own temperature; all checkpoints are kept. */
const chatty: Tree = {
  model: { temperature: 0.7 },
  algorithm: { algorithm_type: 'multi_step_grpo' },
  buffer: { total_steps: 4, explorer_input: { default_workflow_type: 'chatty' } },
  trainer: { save_interval: 1 },
};

const finish = async (name: string, over: Tree): Promise<string> =>
  (await finishHere(workspace, name, chatty, over)).file;

beforeAll(async () => {
  workspace = await createWorkspace();
  config = await finish('steps', {});
}, 60_000);

const verify = (run: string, options: object = {}) =>
  verifyRun({ run, cwd: workspace.root, env: {}, ...options });

function stored(name: string): readonly Experience[] {
  const sqlite = process.getBuiltinModule('node:sqlite');
  const store = new sqlite.DatabaseSync(database(name));
  const rows = store.prepare('SELECT bytes FROM experience').all();
  store.close();
  return rows.map((row) => decodeExperience(row['bytes'] as Uint8Array));
}

const trained = (name: string): number =>
  stored(name).reduce((sum, experience) => sum + actionCount(experience), 0);

describe('trinity verify', () => {
  it('finds every recorded token under its weights, of a configuration', async () => {
    const verification = await verify(config);
    expect(verification).toMatchObject({
      ok: true,
      uncheckedTokens: 0,
      checkedTokens: trained('steps'),
    });
    expect(verification.largest).toBeLessThanOrEqual(1e-5);
    expect(verification.stores[0]!.versions.length).toBeGreaterThan(2);
  });

  it(
    'does so for merged calls, each under the version that sampled it',
    { timeout: 240_000 },
    async () => {
      const file = await finish('merged', { explorer: { experience_shape: 'trajectory' } });
      expect(
        stored('merged').filter(({ spans }) => (spans?.length ?? 0) > 1).length,
      ).toBeGreaterThan(10);
      expect(await verify(file)).toMatchObject({
        ok: true,
        uncheckedTokens: 0,
        checkedTokens: trained('merged'),
      });
    },
  );

  it('opens the weights of a run on a Tinker server without the server', async () => {
    await finish('atOne', { model: { temperature: 1 } });
    const tinker = { enable: true, base_url: 'http://127.0.0.1:1' };
    const file = workspace.config('on-tinker.yaml', chatty, {
      name: 'atOne',
      model: { temperature: 1, tinker },
    });
    expect(await verify(file)).toMatchObject({ ok: true, checkedTokens: trained('atOne') });
  });

  it('says what it could not check, and how to keep it', async () => {
    rmSync(path.join(job('steps'), 'global_step_2'), { recursive: true });
    const { exitCode, stdout } = await mainHere('verify', job('steps'));
    expect(stdout).toMatch(
      /not checked: 1 version \(2\), \d+ tokens: there is no checkpoint .*save_interval: 1/,
    );
    expect(stdout).toMatch(
      /not checked: 1 version \(0\), \d+ tokens: the weights before training are opened with the configuration/,
    );
    expect(exitCode).toBe(0);
  });

  it('names the token that differs, and ends with 1', async () => {
    const sqlite = process.getBuiltinModule('node:sqlite');
    const store = new sqlite.DatabaseSync(database('steps'));
    const row = store
      .prepare('SELECT id, uid, bytes FROM experience WHERE policy_version = 1 ORDER BY id LIMIT 1')
      .get()!;
    const experience = decodeExperience(row['bytes'] as Uint8Array);
    const logprobs = experience.logprobs.map((logprob, t) => (t === 1 ? logprob - 0.25 : logprob));
    // The checksum is removed, because a wrong checksum would be reported as a different error.
    store
      .prepare('UPDATE experience SET bytes = ?, checksum = NULL WHERE id = ?')
      .run(encodeExperience({ ...experience, logprobs }), row['id']!);
    store.close();
    const verification = await verify(config);
    expect(verification.ok).toBe(false);
    expect(verification.largest).toBeCloseTo(0.25, 4);
    const version = verification.stores[0]!.versions.find(
      ({ policyVersion }) => policyVersion === 1,
    )!;
    expect(version.worst).toMatchObject({ uid: row['uid'], token: 1 });
    const { exitCode, stdout, stderr } = await mainHere('verify', job('steps'));
    expect([exitCode, stdout + stderr]).toEqual([
      1,
      expect.stringContaining('ABOVE the tolerance 1e-5'),
    ]);
    expect(await verify(config, { tolerance: 0.3 })).toMatchObject({ ok: true });
  });

  it.each([
    [['verify', 'nowhere'], 2, 'Name a configuration, or the folder of a run'],
    [['verify', 'nowhere', '--tolerance', 'x'], 2, '--tolerance is "x"'],
    [['verify', 'nowhere', '--tolerance', ''], 2, '--tolerance is ""'],
  ] as const)('refuses %o', async (args, expected, message) => {
    const { exitCode, stdout, stderr } = await mainHere(...args);
    expect([exitCode, stdout + stderr]).toEqual([expected, expect.stringContaining(message)]);
  });

  it('refuses a folder without records', async () => {
    expect(await mainHere('verify', path.join(workspace.root, 'model'))).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('no recorded experiences'),
    });
  });

  it('leaves the files of the run as they are', async () => {
    const before = readFileSync(database('steps'));
    await verify(config);
    expect(readFileSync(database('steps')).equals(before)).toBe(true);
  });
});
