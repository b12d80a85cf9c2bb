import { appendFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { writeEnd } from '@trinity-rft/launcher/files';
import { openFileStore } from '../store/files.js';
import { openJobStore, type JobRecord, type JobStore } from '../store/jobs.js';
import { project } from './configuration.js';
import type { CommandEnd, Restarts } from './job-run.js';
import { createQueue } from './queue.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trinity-queue-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const now = (): number => 1;
const queued = {
  ...{ status: 'queued', model: 'm', training_file: 'f', validation_file: null, suffix: '' },
  method: { type: 'supervised', supervised: { hyperparameters: {} } },
  ...{ steps: 1, checkpoint: null, deleted: false },
} as unknown as JobRecord;

/** Starts a job in a queue whose store is `watched`. The job's command ends when the test says so. */
async function start(
  watched: (jobs: JobStore) => Partial<JobStore> = () => ({}),
  job: JobRecord = queued,
) {
  const stored = await openJobStore(path.join(folder, 'jobs'), now, () => undefined);
  const files = await openFileStore(path.join(folder, 'files'), now);
  const jobs = { ...stored, ...watched(stored) };
  const { id } = await jobs.create(job);
  const { promise: ended, resolve: end, reject } = Promise.withResolvers<CommandEnd>();
  const served: string[] = [];
  const ends: string[] = [];
  const started = vi.fn<(restarts: Restarts | undefined) => void>();
  const queue = createQueue({
    ...{ jobs, files, models: {}, runs: folder, pythonGraders: false, now },
    onStart: () => undefined,
    serve: ({ checkpoint }, steps) => void served.push(`${checkpoint}`, ...steps.map(String)),
    onEnd: ({ status }) => void ends.push(status),
    start: (_, restarts) => {
      started(restarts);
      return {
        ended,
        stop: () => reject(new Error('The command is lost.')),
        kill: () => undefined,
      };
    },
  });
  await mkdir(path.join(folder, project, id, 'global_step_1'), { recursive: true });
  queue.wake();
  await expect.poll(() => started.mock.calls.length).toBe(1);
  const [[restarts] = []] = started.mock.calls;
  return { jobs, id, queue, end, served, ends, restarts };
}

it('changes the record of a failed job before the event is written', async () => {
  const seen: string[] = [];
  const { end, ends } = await start(({ get, say }) => ({
    say: (id, event) => {
      if (event.level === 'error') seen.push(get(id).status);
      return say(id, event);
    },
  }));
  end({ outcome: 'failed', output: 'no' });
  await expect.poll(() => ends).toEqual(['failed']);
  expect(seen).toEqual(['failed']);
});

it('says why the rollouts failed, which a restart would not change', async () => {
  const { jobs, id, end, ends, restarts } = await start();
  const run = path.join(folder, project, id);
  const cause = 'The prompt has 408 tokens; at most 128 are allowed.';
  const message = `All 9 runs failed. Start the run again: ${cause}`;
  const failed = {
    how: 'failed',
    error: { code: 'ALL_RUNS_FAILED', message, cause, willRepeat: true },
  } as const;
  await writeEnd(run, { ...failed, at: 0 });
  expect(await restarts?.mayHelp()).toBe(true);
  await writeEnd(run, { ...failed, at: Date.now() });
  expect(await restarts?.mayHelp()).toBe(false);
  const { error } = failed;
  await writeEnd(run, { ...failed, error: { ...error, willRepeat: false }, at: Date.now() });
  expect(await restarts?.mayHelp()).toBe(true);
  end({ outcome: 'failed', output: `warning: Run 1 failed\n${message}` });
  await expect.poll(() => ends).toEqual(['failed']);
  expect(jobs.get(id).error).toEqual({
    code: 'training_failed',
    message: `All rollouts failed, the first one as follows. ${cause}`,
    param: null,
  });
});

it('leaves the warnings of a command out of the error', async () => {
  const { jobs, id, end, ends } = await start();
  const output = 'warning: Run 1 failed: a\n    b\nwarning: Run 2 failed\nNo such\n    model';
  end({ outcome: 'failed', output });
  await expect.poll(() => ends).toEqual(['failed']);
  expect(jobs.get(id).error?.message).toBe('No such\n    model');
});

it('says how a process ended that recorded no error', async () => {
  const { jobs, id, end, ends } = await start();
  const row = 'Row 1 of task set "training": item.truth is missing';
  const output = `warning: Run 1 failed\n${row}\nstep 2/8`;
  end({ outcome: 'failed', output, reason: 'was ended by SIGKILL' });
  await expect.poll(() => ends).toEqual(['failed']);
  expect(jobs.get(id).error).toEqual({
    code: 'training_failed',
    message: `The process was ended by SIGKILL. ${row}\nstep 2/8`,
    param: null,
  });
});

it('leaves a job paused whose command fails when it is stopped', async () => {
  const { jobs, id, queue, ends } = await start();
  await jobs.change(id, { status: 'paused' });
  queue.stop(id);
  await queue.close();
  expect(jobs.get(id).status).toBe('paused');
  expect(ends).toEqual([]);
});

it('adds the reward of an evaluation that ends after its step', async () => {
  const method = { type: 'reinforcement' } as JobRecord['method'];
  const { jobs, id, end, ends, restarts } = await start(undefined, { ...queued, method });
  const file = path.join(folder, project, id, 'monitor', 'metrics.jsonl');
  await mkdir(path.dirname(file), { recursive: true });
  const write = (role: string, step: number, metrics: object): Promise<void> =>
    appendFile(file, `${JSON.stringify({ role, step, metrics, timing: {} })}\n`);
  const said = () =>
    jobs
      .events(id)
      .flatMap(({ type, message, data }) => (type === 'metrics' ? [[message, data]] : []));
  await write('trainer', 1, { 'actor/final_loss': 2 });
  const step = { step: 1, total_steps: 1, train_loss: 2 };
  const trained = ['Step 1/1: training loss=2.0000', step];
  await expect.poll(said).toEqual([trained]);
  expect(restarts?.progress()).toBe(1);
  await write('explorer', 2, { 'eval/model_version': 1, 'eval/validation/reward/mean@1': 0.5 });
  const evaluated = ['Step 1/1: validation reward=0.5000', { ...step, valid_mean_reward: 0.5 }];
  await expect.poll(said).toEqual([trained, evaluated]);
  end({ outcome: 'done', output: '' });
  await expect.poll(() => ends).toEqual(['succeeded']);
  expect(said()).toEqual([trained, evaluated]);
});

it('serves a checkpoint when it is saved', async () => {
  const { id, queue, served } = await start();
  const run = path.join(folder, project, id);
  await mkdir(path.join(run, 'monitor'), { recursive: true });
  const trained = { role: 'trainer', step: 1, metrics: { 'actor/final_loss': 2 }, timing: {} };
  await appendFile(path.join(run, 'monitor', 'metrics.jsonl'), `${JSON.stringify(trained)}\n`);
  await expect.poll(() => served).toEqual(['null', '1']);
  await queue.close();
});

it('keeps a trained model whose result file cannot be written', async () => {
  const { jobs, id, end, ends } = await start();
  await rm(path.join(folder, 'files'), { recursive: true });
  end({ outcome: 'done', output: '' });
  await expect.poll(() => ends).toEqual(['succeeded']);
  expect(jobs.get(id)).toMatchObject({ result_files: [], checkpoint: expect.any(String) });
  expect(jobs.events(id)).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      message: expect.stringMatching(/^The result file cannot be written: ENOENT/),
    }),
  );
});

it('serves a trained model as soon as the record names it', async () => {
  let servedAtOnce: readonly string[] | undefined;
  const { end, ends, served } = await start(({ change }) => ({
    change: (id, changes) => {
      const changed = change(id, changes);
      if (changes.status === 'succeeded') queueMicrotask(() => (servedAtOnce = [...served]));
      return changed;
    },
  }));
  end({ outcome: 'done', output: '' });
  await expect.poll(() => ends).toEqual(['succeeded']);
  expect(servedAtOnce?.slice(-2)).toEqual([expect.stringMatching(/global_step_1$/), '1']);
});
