import path from 'node:path';
import { type Experience, spansOf } from '@trinity-rft/core';
import { decodeExperience } from '@trinity-rft/core/store';
import { verifyRun } from '@trinity-rft/inspect';
import { defineWorkflow } from '@trinity-rft/workflow';
import { beforeAll, describe, expect, it } from 'vitest';
import { finishHere, runHere } from './support/run-here.js';
import { metricLines, usedRows, weightsDigest } from './support/run-record.js';
import { killedTrinity, runArgs } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const database = (name: string): string => path.join(job(name), 'buffer/experience_buffer.db');
const styleOf = (sync_style: string, more: Tree = {}): Tree => ({
  synchronizer: { sync_style, ...more },
});

function stored(name: string): readonly Experience[] {
  const sqlite = process.getBuiltinModule('node:sqlite');
  const file = new sqlite.DatabaseSync(database(name), { readOnly: true });
  const rows = file.prepare('SELECT bytes FROM experience ORDER BY id').all();
  file.close();
  return rows.map((row) => decodeExperience(row['bytes'] as Uint8Array));
}

/** Largest staleness of the weights of a call, in explore steps. */
function largestStaleness(name: string): number {
  const used = usedRows(database(name)).map(({ uid, trainStep = Infinity }) => ({
    exploreStep: Number(uid.split('/')[0]),
    trainStep,
  }));
  const settledUpTo = (version: number): number =>
    Math.min(
      ...used.flatMap(({ exploreStep, trainStep }) =>
        trainStep > version ? [exploreStep - 1] : [],
      ),
    );
  const behind = stored(name).flatMap((experience) =>
    spansOf(experience).map(
      ({ policyVersion }) => Number(experience.eid.batch) - 1 - settledUpTo(policyVersion),
    ),
  );
  return Math.max(...behind);
}

function expectEachUsedOnce(name: string, count: number): void {
  const rows = usedRows(database(name));
  expect([rows.length, new Set(rows.map(({ uid }) => uid)).size]).toEqual([count, count]);
  expect(rows.every(({ trainStep }) => trainStep !== undefined)).toBe(true);
}

/** Workflow that calls the model until the weights have changed, except in every second explore step. */
const patient = defineWorkflow({
  name: 'patient',
  run: async ({ task, model }) => {
    const chat = async () => (await model.chat([{ role: 'user', content: '1+1=' }]))[0]!;
    const first = await chat();
    if (Number(task.batchId) % 2 === 1) return first.tokens.length % 3;
    for (let call = 0; call < 1000; call++)
      if ((await chat()).policyVersion > first.policyVersion) break;
    return first.tokens.length % 3;
  },
});

describe('every style', () => {
  it(
    'ends in the weights of fixed, bit for bit, if no explore step may be ahead',
    { timeout: 240_000 },
    async () => {
      const two: Tree = { buffer: { train_batch_size: 8 } };
      const runs: readonly (readonly [string, Tree])[] = [
        ['fixed', styleOf('fixed')],
        ['fully_async', styleOf('fully_async', { max_staleness: 0 })],
        ['trainer_driven', styleOf('dynamic_by_trainer', { max_staleness: 0, sync_interval: 4 })],
        ['explorer_driven', styleOf('explorer_driven', { max_staleness: 0, sync_interval: 4 })],
      ];
      for (const [name, over] of runs) await finishHere(workspace, name, two, over);
      const [fixed, ...others] = runs.map(([name]) => ({
        digest: weightsDigest(job(name)),
        rows: usedRows(database(name)),
        losses: metricLines(job(name)).flatMap(({ role, metrics }) =>
          role === 'trainer' ? [metrics['actor/final_loss'], metrics['sample/staleness/max']] : [],
        ),
      }));
      for (const other of others) expect(other).toEqual(fixed);
    },
  );

  it.each(['explorer_driven', 'trainer_driven', 'fully_async'])(
    'keeps its bound, as the stored versions show: %s',
    { timeout: 240_000 },
    async (style) => {
      const name = `bounded-${style}`;
      const over = styleOf(style, { max_staleness: 1, sync_interval: 3 });
      const { output } = await finishHere(workspace, name, over, {
        buffer: { total_steps: 10, train_batch_size: 8 },
        explorer: { max_inflight_batches: 4 },
      });
      expect(output).toContain('sample/staleness then reaches 3, and no more');
      expectEachUsedOnce(name, 160);
      expect(largestStaleness(name)).toBeLessThanOrEqual(1);
      const staleness = metricLines(job(name)).map(
        ({ metrics }) => metrics['sample/staleness/max'] ?? 0,
      );
      expect(Math.max(...staleness)).toBeLessThanOrEqual(3);
    },
  );
});

/** Runs one trainer and two explorers in this process, as separate processes would. */
async function runApart(name: string, ...over: readonly Tree[]): Promise<void> {
  const parts: readonly Tree[] = [
    { mode: 'train' },
    { mode: 'explore', explorer: { name: 'first' } },
    { mode: 'explore', explorer: { name: 'second' } },
  ];
  const ends = await Promise.all(
    parts.map((part, i) =>
      runHere(workspace, workspace.config(`${name}-${i}.yaml`, ...over, part, { name })),
    ),
  );
  expect(ends.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
}

describe('two explorers and a trainer apart', { tags: ['slow'] }, () => {
  it.each(['explorer_driven', 'trainer_driven', 'fully_async'])(
    'keep the bound, as the stored versions show: %s',
    { timeout: 240_000 },
    async (style) => {
      const name = `apart-${style}`;
      const over = styleOf(style, { max_staleness: 1, sync_interval: 3 });
      await runApart(name, over, {
        buffer: { total_steps: 8, train_batch_size: 8 },
        explorer: { max_inflight_batches: 4 },
      });
      expectEachUsedOnce(name, 8 * 16);
      expect(largestStaleness(name)).toBeLessThanOrEqual(1);
    },
  );

  it(
    'lose nothing and keep the bound when the trainer is killed and started again',
    { timeout: 240_000 },
    async () => {
      const name = 'apart-killed';
      const over = styleOf('fully_async', { max_staleness: 1 });
      const configOf = (part: Tree): string =>
        workspace.config(`${name}-${String(part['mode'])}.yaml`, over, part, {
          name,
          buffer: { total_steps: 8 },
        });
      const trainer = configOf({ mode: 'train', trainer: { save_interval: 3 } });
      const explorer = runHere(workspace, configOf({ mode: 'explore', explorer: { name: 'one' } }));
      // The trainer writes two lines per step, so the tenth line is after the checkpoint of step 3.
      const point = {
        call: 'append',
        match: 'monitor/metrics.jsonl',
        nth: 10,
        when: 'after',
      } as const;
      const { signal } = await killedTrinity(workspace.root, runArgs(trainer), point);
      expect(signal).toBe('SIGKILL');
      const ends = await Promise.all([runHere(workspace, trainer), explorer]);
      expect(ends.map(({ error }) => error)).toEqual([undefined, undefined]);
      expectEachUsedOnce(name, 8 * 16);
      expect(largestStaleness(name)).toBeLessThanOrEqual(1);
    },
  );

  it(
    'end in the weights of fixed in one process, bit for bit, if no explore step may be ahead',
    { timeout: 240_000 },
    async () => {
      const two: Tree = { buffer: { train_batch_size: 8 } };
      await finishHere(workspace, 'together', two, styleOf('fixed'));
      await runApart('apart-0', two, styleOf('fully_async', { max_staleness: 0 }));
      expect(usedRows(database('apart-0'))).toEqual(usedRows(database('together')));
      expect(weightsDigest(job('apart-0'))).toBe(weightsDigest(job('together')));
    },
  );
});

/** Sections of Trinity-RFT's configurations without a bound on staleness. */
it.each<readonly [name: string, over: Tree]>([
  [
    'dynamic_by_trainer',
    { synchronizer: { sync_style: 'dynamic_by_trainer', sync_method: 'nccl' } },
  ],
  [
    'fully_async',
    {
      explorer: { max_inflight_batches: 3 },
      synchronizer: {
        sync_style: 'fully_async',
        sync_method: 'checkpoint',
        explorer_sync_interval: 2,
        trainer_sync_interval: 2,
      },
    },
  ],
])('runs what Trinity-RFT runs: %s', { timeout: 240_000 }, async (name, over) => {
  const config = workspace.config(`theirs-${name}.yaml`, over, {
    name: `theirs-${name}`,
    buffer: { total_steps: 4 },
  });
  const { error, summary } = await runHere(workspace, config);
  expect([error, summary?.trainStep]).toEqual([undefined, 4]);
  expectEachUsedOnce(`theirs-${name}`, 4 * 16);
});

describe('fully_async', () => {
  it(
    'changes weights in the middle of rollouts, and each token is recorded under its own',
    { timeout: 240_000 },
    async () => {
      const config = workspace.config('middle.yaml', styleOf('fully_async', { max_staleness: 2 }), {
        name: 'middle',
        algorithm: { algorithm_type: 'multi_step_grpo' },
        buffer: { total_steps: 4, explorer_input: { default_workflow_type: 'patient' } },
        explorer: { experience_shape: 'trajectory' },
        trainer: { save_interval: 1 },
      });
      expect((await runHere(workspace, config, { workflows: [patient] })).error).toBeUndefined();
      const versionsOfRun = Map.groupBy(stored('middle'), ({ eid }) =>
        [eid.batch, eid.task, eid.run].join(),
      );
      const mixed = [...versionsOfRun.values()].filter(
        (calls) =>
          new Set(calls.flatMap((call) => spansOf(call).map((span) => span.policyVersion))).size >
          1,
      );
      expect(mixed.length).toBeGreaterThan(0);
      expect(largestStaleness('middle')).toBeLessThanOrEqual(2);
      const verified = await verifyRun({ run: config, cwd: workspace.root, env: {} });
      expect(verified).toMatchObject({ ok: true, uncheckedTokens: 0 });
    },
  );

  it(
    'killed and started again makes the same train steps again, so that every record stays true',
    { timeout: 240_000 },
    async () => {
      const over = styleOf('fully_async', { max_staleness: 1 });
      const configOf = (save_interval: number): string =>
        workspace.config('killed.yaml', over, {
          name: 'killed',
          buffer: { total_steps: 12 },
          trainer: { save_interval },
        });
      // By then eight explore steps are stored and seven train steps are done, of which a
      // checkpoint has four.
      const point = { call: 'commit', match: '', nth: 16, when: 'after' } as const;
      const { signal } = await killedTrinity(workspace.root, runArgs(configOf(4)), point);
      expect(signal).toBe('SIGKILL');
      expect(
        Math.max(...stored('killed').map(({ policyVersion }) => policyVersion)),
      ).toBeGreaterThan(4);
      const config = configOf(1);
      expect((await runHere(workspace, config)).error).toBeUndefined();
      expectEachUsedOnce('killed', 12 * 16);
      expect(largestStaleness('killed')).toBeLessThanOrEqual(1);
      const { ok, stores } = await verifyRun({ run: config, cwd: workspace.root, env: {} });
      const unchecked = stores[0]!.versions.flatMap(({ policyVersion, unchecked: reason }) =>
        reason === undefined ? [] : [policyVersion],
      );
      expect([ok, unchecked.every((version) => version < 4)]).toEqual([true, true]);
    },
  );

  it('ends when no explore step leaves anything to train on', { timeout: 240_000 }, async () => {
    const over = styleOf('fully_async', { max_staleness: 0 });
    const flat = defineWorkflow({
      name: 'flat',
      run: async ({ model }) => (await model.chat([{ role: 'user', content: '1' }]), 0.5),
    });
    const config = workspace.config('thin.yaml', over, {
      name: 'thin',
      algorithm: { advantage_fn: 'grpo', advantage_fn_args: { std_threshold: 0.01 } },
      buffer: { total_steps: 3, explorer_input: { default_workflow_type: 'flat' } },
    });
    const { error } = await runHere(workspace, config, { workflows: [flat] });
    expect(error).toMatchObject({ code: 'NOTHING_TRAINED' });
  });
});
