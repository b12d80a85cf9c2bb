import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { startThread, type ThreadExit } from './thread.js';

interface Methods {
  echo(text: string): string;
}

/** A thread that runs `code` when the first call arrives. */
function start(code: string, exits: ThreadExit[] = []) {
  const script = `
    import { workerData } from 'node:worker_threads';
    const { port, data } = workerData;
    port.on('message', ([{ id, input }]) => { ${code} });`;
  return startThread<Methods, string>(
    () => new URL(`data:text/javascript,${encodeURIComponent(script)}`),
    {
      name: 'test',
      data: 'hello',
      toError: (message: string) => new Error(message),
      onExit: (exit) => {
        exits.push(exit);
        return new Error('thread ended', { cause: exit.cause });
      },
    },
  );
}

it('gives a thread its data and answers calls until it is closed', async () => {
  const thread = start(`port.postMessage([{ id, result: data + ' ' + input }]);`);
  expect(await thread.call('echo', 'world')).toBe('hello world');
  await thread.close(new Error('closed'));
});

it.for([
  ['throws', 'throw new RangeError("no room")', 1, 'no room'],
  ['exits', 'process.exit(7)', 7, undefined],
] as const)(
  'rejects pending and later calls when the thread %s',
  async ([, code, exitCode, cause]) => {
    const exits: ThreadExit[] = [];
    const thread = start(code, exits);
    const pending = await Promise.allSettled([thread.call('echo', 'a'), thread.call('echo', 'b')]);
    const later = await Promise.allSettled([thread.call('echo', 'c')]);
    for (const outcome of [...pending, ...later])
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'thread ended' } });
    expect(exits).toMatchObject([{ exitCode, ...(cause && { cause: { message: cause } }) }]);
    await thread.close(new Error('closed'));
  },
);

it('settles calls that were answered before the thread ended', async () => {
  const thread = start(`port.postMessage([{ id, result: 'last' }]); process.exit(1);`);
  const [answered, open] = await Promise.allSettled([
    thread.call('echo', 'a'),
    thread.call('echo', 'b'),
  ]);
  expect([answered.status, open.status]).toEqual(['fulfilled', 'rejected']);
});

it('keeps a process that waits for a call alive until the thread has ended, also when its port closes earlier', async () => {
  const thread = `
    import { workerData } from 'node:worker_threads';
    workerData.port.on('message', () => {
      workerData.port.close();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      process.exit(7);
    });`;
  const owner = `
    import { startThread } from ${JSON.stringify(new URL('./thread.ts', import.meta.url).href)};
    const url = new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(thread)}`)});
    const onExit = ({ exitCode }) => new Error('ended with ' + exitCode);
    const link = startThread(() => url, { name: 'test', keepAlive: 'while-waiting', onExit });
    console.log(await link.call('die').catch((error) => error.message));`;
  const sources = new URL('../../../../tools/register-source.mjs', import.meta.url).href;
  const { stdout } = await promisify(execFile)(process.execPath, [
    `--import=${sources}`,
    '--input-type=module',
    '--eval',
    owner,
  ]);
  expect(stdout).toBe('ended with 7\n');
});

it('says why a thread cannot be started from a bundle that has no place', () => {
  const exits: ThreadExit[] = [];
  const onExit = (exit: ThreadExit): Error => {
    exits.push(exit);
    return new Error('not started');
  };
  const entry = (): URL => new URL('./worker.js', undefined);
  expect(() =>
    startThread<Methods, string>(entry, {
      name: 'test',
      data: '',
      toError: String as never,
      onExit,
    }),
  ).toThrow('not started');
  expect(exits).toMatchObject([
    { exitCode: undefined, cause: { message: expect.stringContaining('bundle of CommonJS') } },
  ]);
});
