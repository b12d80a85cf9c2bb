import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { ConfigError } from '@trinity-rft/core';
import { openSqlite } from '@trinity-rft/core/store';
import { afterAll, describe, expect, it } from 'vitest';
import { lockHolder, lockRun } from '../src/run/lock.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-lock-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
/** The wait for a lock ends after 200 ms, in which a busy machine may not run its holder. */
const again = { retry: 3 };
const folder = (): string => path.join(root, `run-${count++}`);

async function lockAndLetGo(job: string): Promise<void> {
  const unlock = await lockRun(job);
  await unlock();
}

describe('lockRun', () => {
  it('makes the folder, refuses a second run of this process, and lets go', async () => {
    const job = folder();
    const unlock = await lockRun(job);
    expect(readFileSync(path.join(job, 'run.pid'), 'utf8')).toBe(`${process.pid}\n`);
    await expect(lockRun(job)).rejects.toThrow(
      `Run directory ${job} is in use by another run of this process. Wait for it, stop it, or give this run another name.`,
    );
    await unlock();
    expect(existsSync(path.join(job, 'run.pid'))).toBe(false);
    await lockAndLetGo(job);
  });

  it('names the process that has it, and takes over when that process was killed', async () => {
    const job = folder();
    await lockAndLetGo(job);
    const hold = `const { DatabaseSync } = require('node:sqlite'); const lock = new DatabaseSync(process.argv[1] + '/run.lock'); lock.exec('BEGIN EXCLUSIVE');
      require('node:fs').writeFileSync(process.argv[1] + '/run.pid', String(process.pid)); console.log('held'); setInterval(() => lock, 1000);`;
    const holder = spawn(process.execPath, ['-e', hold, job], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(holder.stdout, 'data');
    await expect(lockRun(job)).rejects.toThrow(`is in use by process ${holder.pid}.`);
    holder.kill('SIGKILL');
    await once(holder, 'close');
    await lockAndLetGo(job);
  });

  it('waits for a process that holds the lock for a moment', again, async () => {
    const job = folder();
    await lockAndLetGo(job);
    const hold = `const { DatabaseSync } = require('node:sqlite'); const lock = new DatabaseSync(process.argv[1] + '/run.lock'); lock.exec('BEGIN EXCLUSIVE');
      console.log('held'); setTimeout(() => lock.close(), 60);`;
    const holder = spawn(process.execPath, ['-e', hold, job], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(holder, 'close');
    await once(holder.stdout, 'data');
    await expect(lockAndLetGo(job)).resolves.toBeUndefined();
    await ended;
  });

  it('is not misled by the id of a process that is long gone', async () => {
    const job = folder();
    await lockAndLetGo(job);
    writeFileSync(path.join(job, 'run.pid'), `${process.ppid}\n`);
    const unlock = await lockRun(job);
    expect(readFileSync(path.join(job, 'run.pid'), 'utf8')).toBe(`${process.pid}\n`);
    await unlock();
  });

  it(
    'can be checked by several programs at once, which no run takes for another run',
    again,
    async () => {
      const job = folder();
      const unlock = await lockRun(job);
      expect(await lockHolder(job)).toBe(process.pid);
      await unlock();
      writeFileSync(path.join(job, 'run.pid'), `${process.ppid}\n`);
      const check = `const { DatabaseSync } = require('node:sqlite'); const { parentPort, workerData } = require('node:worker_threads');
      const lock = new DatabaseSync(workerData + '/run.lock', { readOnly: true }); lock.exec('BEGIN; SELECT 1 FROM sqlite_schema'); parentPort.postMessage('checks');
      parentPort.once('message', () => setTimeout(() => { lock.close(); parentPort.close(); }, 20));`;
      const reader = new Worker(check, { eval: true, workerData: job });
      const ended = once(reader, 'exit');
      await once(reader, 'message');
      expect(await lockHolder(job)).toBeUndefined();
      reader.postMessage('end');
      await lockAndLetGo(job);
      await ended;
    },
  );

  it('lets go although its process id file cannot be removed', async () => {
    const job = folder();
    const unlock = await lockRun(job);
    rmSync(path.join(job, 'run.pid'));
    // `rm` of a file fails on a folder, as it does on a file system that has become read-only.
    mkdirSync(path.join(job, 'run.pid'));
    await expect(unlock()).resolves.toBeUndefined();
    rmdirSync(path.join(job, 'run.pid'));
    await lockAndLetGo(job);
  });

  it('names the folder that cannot be made', async () => {
    const file = path.join(root, 'file');
    writeFileSync(file, '');
    const error: unknown = await lockRun(path.join(file, 'run')).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).message).toMatch(
      /^Run directory .*file.run cannot be used: .*Set checkpoint_root_dir to a folder that this process may write to\.$/,
    );
    // There is no checkpoint to serve.
    await expect(lockRun(path.join(file, 'run'), 'serve')).rejects.toThrow(
      /Set checkpoint_root_dir to a folder/,
    );
    // The lock of a folder that cannot be written, such as one of another user, cannot be opened.
    const trained = path.join(root, 'trained');
    mkdirSync(path.join(trained, 'serve.lock'), { recursive: true });
    writeFileSync(path.join(trained, 'latest_checkpointed_iteration.txt'), '2');
    await expect(lockRun(trained, 'serve')).rejects.toThrow(
      /use trinity serve --model NAME=.*trained\.$/,
    );
  });
});

describe('lockHolder', () => {
  it('names the process that has the lock', async () => {
    const job = folder();
    expect(await lockHolder(job)).toBeUndefined();
    const unlock = await lockRun(job);
    expect([await lockHolder(job), await lockHolder(job, 'serve')]).toEqual([
      process.pid,
      undefined,
    ]);
    await unlock();
    expect(await lockHolder(job)).toBeUndefined();
  });

  it('names no process while another one asks, even if a killed run has left its id', async () => {
    const job = folder();
    await lockAndLetGo(job);
    writeFileSync(path.join(job, 'run.pid'), `${process.ppid}\n`);
    const other = openSqlite(path.join(job, 'run.lock'));
    other.exec('BEGIN; SELECT 1 FROM sqlite_schema');
    expect(await lockHolder(job)).toBeUndefined();
    other.close();
  });
});
