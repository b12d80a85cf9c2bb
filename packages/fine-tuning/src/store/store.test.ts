import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openFileStore } from './files.js';
import { openJobStore, type JobRecord, type JobStore } from './jobs.js';

let folder = '';
let failures: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trinity-store-'));
  failures = [];
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true, force: true });
});

const now = (): number => 1;
const open = (): Promise<JobStore> => openJobStore(folder, now, (why) => void failures.push(why));
const created = { status: 'queued', model: 'small' } as JobRecord;

describe('jobs', () => {
  it('go on in memory where they cannot be written, and are written later', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const jobs = await open();
    const { id } = await jobs.create(created);
    await jobs.say(id, { message: 'first' });
    // A folder in the place of the draft.
    const obstacle = path.join(folder, id, 'job.json.tmp');
    await mkdir(obstacle);
    await jobs.change(id, { status: 'running' });
    await jobs.say(id, { message: 'second' });
    await jobs.change(id, { status: 'failed' });
    expect([jobs.get(id).status, jobs.events(id)]).toEqual([
      'failed',
      [expect.anything(), expect.anything()],
    ]);
    expect(failures).toEqual([
      expect.stringMatching(`${id} cannot be written, and is tried again in 5 s: .+ Make room`),
    ]);
    await rm(obstacle, { recursive: true });
    await vi.advanceTimersByTimeAsync(5000);
    const record = async (): Promise<string> => readFile(path.join(folder, id, 'job.json'), 'utf8');
    await expect.poll(record).toContain('"failed"');
    const again = await open();
    expect(again.events(id).map(({ message }) => message)).toEqual(['first', 'second']);
  });

  it('are not there when their creation could not be written', async () => {
    const jobs = await open();
    await rm(folder, { recursive: true });
    await expect(jobs.create(created)).rejects.toThrow('ENOENT');
    expect(jobs.list()).toEqual([]);
  });

  it('keep the events that are whole', async () => {
    const jobs = await open();
    const { id } = await jobs.create(created);
    const file = path.join(folder, id, 'events.jsonl');
    await writeFile(file, '{"message":"a"}\n{"mess{"message":"b"}\n{"message":"c"}\n{"mes');
    const again = await open();
    expect(again.events(id)).toEqual([{ message: 'a' }, { message: 'c' }]);
    expect(await readFile(file, 'utf8')).toBe('{"message":"a"}\n{"message":"c"}\n');
  });

  it('keep in records of older versions whether their webhook was notified', async () => {
    for (const [id, notified] of Object.entries({ 'ftjob-1': true, 'ftjob-2': false })) {
      await mkdir(path.join(folder, id));
      const record = { id, told: notified };
      await writeFile(path.join(folder, id, 'job.json'), JSON.stringify(record));
    }
    const jobs = await open();
    expect(jobs.list().map(({ notified }) => notified)).toEqual([true, false]);
  });

  it.each(['', '{"id": "ftj', 'null', '{}'])('name a record that is %j', async (text) => {
    const file = path.join(folder, 'ftjob-1', 'job.json');
    await mkdir(path.dirname(file));
    await writeFile(file, text);
    await expect(open()).rejects.toThrow(`${file} cannot be read: `);
  });
});

describe('files', () => {
  const about = { filename: 'rows.jsonl', purpose: 'fine-tune' } as const;

  it('leave no bytes behind without a record', async () => {
    const files = await openFileStore(folder, now);
    await mkdir(path.join(folder, 'file-1.json.tmp'));
    await expect(files.create(Buffer.from('{}'), about, 'file-1')).rejects.toThrow('EISDIR');
    expect(await readdir(folder)).toEqual(['file-1.json.tmp']);
    await files.create(Buffer.from('{}'), about, 'file-2');
    // Left by a kill.
    await writeFile(path.join(folder, 'file-3.jsonl'), '{}');
    expect((await openFileStore(folder, now)).list()).toMatchObject([{ id: 'file-2' }]);
    expect(await readdir(folder)).toEqual(['file-1.json.tmp', 'file-2.json', 'file-2.jsonl']);
  });
});
