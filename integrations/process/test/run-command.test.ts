import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { CancelledError } from '@trinity-rft/core';
import { isRunning } from '@trinity-rft/test-support';
import { createAgentEndpoint } from '@trinity-rft/workflow/internal';
import { afterAll, describe, expect, it } from 'vitest';
import { runCommand, type Command, type CommandResult } from '../src/index.js';

const endpoint = createAgentEndpoint({
  baseURL: 'http://127.0.0.1:9/r/1/v1',
  apiKey: 'rk_abcdefgh12345',
  model: 'tiny',
  fetch,
});
const folder = mkdtempSync(path.join(tmpdir(), 'process-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs JavaScript in a separate process. */
const run = (
  script: string,
  more: Partial<Command> = {},
  signal = new AbortController().signal,
): Promise<CommandResult> =>
  runCommand(endpoint, { command: process.execPath, args: ['-e', script], ...more }, signal);

describe('a program', () => {
  it('gets address, key and name of the model, its own variables, and its input', async () => {
    const script = `let text = ''; process.stdin.on('data', (d) => (text += d)).on('end', () => console.log(JSON.stringify([process.env.OPENAI_BASE_URL, process.env.OPENAI_API_KEY, process.env.TRINITY_MODEL, process.env.MINE, text])))`;
    const { text, exitCode } = await run(script, { env: { MINE: 'yes' }, input: 'hello' });
    expect(JSON.parse(text)).toEqual([endpoint.baseURL, endpoint.apiKey, 'tiny', 'yes', 'hello']);
    expect(exitCode).toBe(0);
  });

  it('is started in a turn of the event loop of its own', async () => {
    let turn = 0;
    const turns: number[] = [];
    const onStart = (): void => void turns.push(turn);
    subscribe('child_process', onStart);
    const programs = Promise.all(['1', '2', '3'].map((n) => run(`console.log(${n})`)));
    for (; turn < 20; turn++) await setImmediate();
    unsubscribe('child_process', onStart);
    expect((await programs).map(({ text }) => text)).toEqual(['1', '2', '3']);
    expect(new Set(turns).size).toBe(3);
  });

  it('is read to the end of what it wrote', async () => {
    expect((await run(`console.log('x'.repeat(900_000))`)).text).toHaveLength(900_000);
  });

  it('leaves a transcript of both outputs, the newest part of it when it is long', async () => {
    const script = `process.stdout.write('one\\ntwo'); setTimeout(() => console.error('oops'), 50); setTimeout(() => console.log('!\\nthree'), 300)`;
    const { transcript } = await run(script);
    const linesOf = (wanted: string) =>
      transcript.flatMap(({ stream, text }) => (stream === wanted ? [text] : []));
    // The warning divides the second line, unless a busy machine reads both outputs late.
    const second = linesOf('stdout').includes('two') ? ['two', '!'] : ['two!'];
    expect(linesOf('stdout')).toEqual(['one', ...second, 'three']);
    expect(linesOf('stderr')).toEqual(['oops']);
    const long = await run(`console.log('x'.repeat(1000) + 'end')`, { transcriptLimit: 10 });
    expect([long.text, long.dropped]).toEqual(['xxxxxxend', 994]);
    expect(long.transcript[0]!.text).toBe('[994 characters before this were dropped]');
  });

  it('has answered although its warnings fill the transcript', async () => {
    const script = `console.log('42'); process.stderr.write('x\\n'.repeat(500_001))`;
    expect((await run(script)).text).toBe('42');
  });

  it.each([
    [Buffer.from('hi'), 'hi'],
    [null, ''],
  ])('gets the input %j of a caller without types', async (input, expected) => {
    const { text } = await run('process.stdin.pipe(process.stdout)', { input: input as never });
    expect(text).toBe(expected);
  });

  it('that does not read its input is no error', async () => {
    expect((await run(`console.log('done')`, { input: 'x'.repeat(1 << 20) })).text).toBe('done');
  });
});

describe('a program that fails', () => {
  it('is reported with its exit code and its last output, without its key', async () => {
    await expect(
      run(`console.error('no such tool, key ' + process.env.OPENAI_API_KEY); process.exit(3)`),
    ).rejects.toMatchObject({
      code: 'PROCESS_FAILED',
      message: expect.stringMatching(
        /exited with code 3[^]*no such tool, key \[redacted\]/,
      ) as string,
    });
  });

  it('is reported when it cannot be started or was killed', async () => {
    await expect(run('', { command: path.join(folder, 'missing') })).rejects.toMatchObject({
      code: 'PROCESS_START',
    });
    await expect(run('', { cwd: path.join(folder, 'missing') })).rejects.toMatchObject({
      code: 'PROCESS_START',
    });
    await expect(run(`process.kill(process.pid, 'SIGKILL')`)).rejects.toMatchObject({
      code: 'PROCESS_FAILED',
      message: expect.stringContaining('was killed by SIGKILL. It had no output.') as string,
    });
  });

  it('is reported when its arguments are invalid, briefly and without keys', async () => {
    await expect(run('', { args: ['x'.repeat(1 << 22)] })).rejects.toMatchObject({
      code: 'PROCESS_START',
      message: expect.stringMatching(/^[^]{300,600}$/) as string,
    });
    const zero = run('', { args: ['--key', endpoint.apiKey, 'a\0b'] });
    await expect(zero).rejects.toMatchObject({
      code: 'PROCESS_START',
      message: expect.not.stringContaining(endpoint.apiKey) as string,
    });
  });

  it.each([
    ['input', 5, 'a text'],
    ['input', { token: 'sk-proj-abcdefgh12345' }, 'a text'],
    ['args', '--api-key=sk-proj-abcdefgh12345', 'a list of texts'],
    ['transcriptLimit', -1, 'a number of characters from 0'],
    ['transcriptLimit', Number.NaN, 'a number of characters from 0'],
  ])('is not started with %s %s', async (field, value, expected) => {
    const started = path.join(folder, 'started');
    const script = `require('node:fs').writeFileSync(${JSON.stringify(started)}, '')`;
    await expect(run(script, { [field]: value })).rejects.toMatchObject({
      code: 'PROCESS_START',
      message: expect.stringMatching(
        new RegExp(`has ${field} (?!.*sk-proj).*; expected ${expected}`),
      ) as string,
    });
    expect(existsSync(started)).toBe(false);
  });

  it('is not started for a run that is over', async () => {
    const over = AbortSignal.abort(new Error('over'));
    await expect(run(`console.log('started')`, {}, over)).rejects.toBeInstanceOf(CancelledError);
  });

  it('is rejected without an HTTP address', async () => {
    const nowhere = createAgentEndpoint({ ...endpoint, baseURL: 'http://rollout.invalid/v1' });
    await expect(
      runCommand(nowhere, { command: 'true' }, new AbortController().signal),
    ).rejects.toMatchObject({ code: 'NO_HTTP_ADDRESS' });
  });
});

const register = new URL('../../../tools/register-source.mjs', import.meta.url).href;

describe.skipIf(process.platform === 'win32')('nothing is left running', () => {
  /** Script that starts a child, which ignores SIGTERM and writes its id to `file`, and then runs `then`. */
  const withChild = (file: string, then: string): string => {
    const child = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid))`;
    return `
      require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' });
      const there = setInterval(() => {
        if (!require('node:fs').existsSync(${JSON.stringify(file)})) return;
        clearInterval(there);
        ${then}
      }, 10);`;
  };

  it('when the program ends but its child does not', async () => {
    const file = path.join(folder, 'orphan');
    expect((await run(withChild(file, `console.log('done'); process.exit(0)`))).text).toBe('done');
    await expect.poll(() => isRunning(Number(readFileSync(file, 'utf8')))).toBe(false);
  });

  it('of the pipes, when a process leaves the group with them', async () => {
    const pipes = (): number =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'PipeWrap').length;
    const before = pipes();
    const leaver = 'setInterval(() => {}, 1000)';
    const script = `const left = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(leaver)}], { stdio: 'inherit', detached: true }); console.log(left.pid); process.exit(0)`;
    const { text } = await run(script);
    try {
      await expect.poll(pipes).toBeLessThanOrEqual(before);
    } finally {
      process.kill(Number(text), 'SIGKILL');
    }
  });

  it('when this process exits before the program has used up its time after SIGTERM', async () => {
    const file = path.join(folder, 'stubborn');
    const program = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid))`;
    const script = `
      import { existsSync } from 'node:fs';
      import { runCommand } from ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)};
      const abort = new AbortController();
      const endpoint = { baseURL: 'http://127.0.0.1:9/v1', model: 'tiny', env: () => ({}) };
      const command = { command: process.execPath, args: ['-e', ${JSON.stringify(program)}] };
      runCommand(endpoint, command, abort.signal).catch(() => undefined);
      setInterval(() => {
        if (!existsSync(${JSON.stringify(file)})) return;
        abort.abort();
        setImmediate(() => process.exit(0));
      }, 10);`;
    const flags = ['--conditions=@trinity-rft/source', '--import', register, '--input-type=module'];
    spawnSync(process.execPath, [...flags, '-e', script], {
      stdio: 'inherit',
      timeout: 120_000,
      killSignal: 'SIGKILL',
    });
    await expect.poll(() => isRunning(Number(readFileSync(file, 'utf8')))).toBe(false);
  });

  it('when the run is over before the program', async () => {
    const file = path.join(folder, 'aborted');
    const abort = new AbortController();
    const reason = new CancelledError('The attempt took too long.', { reason: 'timeout' });
    const ended = run(withChild(file, 'setInterval(() => {}, 1000)'), {}, abort.signal).catch(
      (error: unknown) => error,
    );
    while (!readOr(file)) await sleep(10);
    abort.abort(reason);
    expect(await ended).toBe(reason);
    await expect.poll(() => isRunning(Number(readFileSync(file, 'utf8')))).toBe(false);
  });
});

const readOr = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};
