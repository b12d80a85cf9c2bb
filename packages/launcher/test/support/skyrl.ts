/** SkyRL's real Tinker server on this machine's processor, installed once into the user's cache. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@trinity-rft/core/internal';
import { findUv } from './vllm.js';

const execute = promisify(execFile);
const installMs = 1_800_000;
const startMs = 240_000;
const release = '0.4.0';
const folder = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'),
  'trinity-rft',
  `skyrl-${release}`,
);

/** Its programs, or why there are none. */
export type FoundSkyrl =
  | { readonly uv: string; readonly python: string }
  | { readonly missing: string };

/** The packages of PyPI, six gigabytes. `aiohttp` and `psutil` are imported but not declared. */
export async function findSkyrl(): Promise<FoundSkyrl> {
  const python = path.join(folder, 'bin', 'python');
  const complete = path.join(folder, 'complete');
  try {
    const uv = await findUv();
    if (existsSync(complete)) return { uv: uv.program, python };
    await mkdir(folder, { recursive: true });
    const environment = ['venv', '--python', uv.python, '--allow-existing', folder];
    await execute(uv.program, environment, { timeout: installMs });
    const packages = [`skyrl[tinker,jax]==${release}`, 'aiohttp', 'psutil', 'torch==2.13.0'];
    const install = ['pip', 'install', '--python', python, ...packages];
    await execute(uv.program, install, { timeout: installMs });
    await writeFile(complete, '');
    return { uv: uv.program, python };
  } catch (error) {
    return { missing: `SkyRL ${release} cannot be installed: ${(error as Error).message}` };
  }
}

export interface StartedSkyrl {
  readonly url: string;
  stop(): Promise<void>;
}

export interface SkyrlOptions {
  readonly uv: string;
  readonly python: string;
  readonly modelPath: string;
  /** For its database, checkpoints and log. */
  readonly directory: string;
}

const backend = {
  max_lora_adapters: 5,
  max_lora_rank: 4,
  train_micro_batch_size: 4,
  sample_max_num_sequences: 4,
};

/** Resolves when its API answers; its engine may start minutes later. It must be started by `uv run`. */
export async function startSkyrl(options: SkyrlOptions): Promise<StartedSkyrl> {
  const { uv, python, modelPath, directory } = options;
  const port = await freePort();
  const command = ['run', '--no-project', '--python', python, '-m', 'skyrl.tinker.api'];
  const model = ['--base-model', modelPath, '--backend', 'jax'];
  const settings = ['--backend-config', JSON.stringify(backend)];
  const database = `sqlite:///${path.join(directory, 'tinker.db')}`;
  const storage = ['--checkpoints-base', path.join(directory, 'saved'), '--database-url', database];
  const address = ['--host', '127.0.0.1', '--port', String(port)];
  const child = spawn(uv, [...command, ...model, ...settings, ...storage, ...address], {
    env: {
      ...process.env,
      PATH: `${path.dirname(uv)}${path.delimiter}${process.env['PATH'] ?? ''}`,
      JAX_PLATFORMS: 'cpu',
      HF_HUB_OFFLINE: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const log = createWriteStream(path.join(directory, 'skyrl.log'));
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  const url = `http://127.0.0.1:${port}`;
  await answers(child, url);
  return { url, stop: () => end(child) };
}

async function answers(child: ChildProcess, url: string): Promise<void> {
  const until = Date.now() + startMs;
  while (Date.now() < until && child.exitCode === null) {
    const answer = await fetch(`${url}/api/v1/healthz`).catch(() => undefined);
    if (answer?.ok) return;
    await systemClock.sleep(500);
  }
  await end(child);
  throw new Error(`SkyRL did not answer within ${startMs / 1000} s.`);
}

/** With its engine, which is a process of its own. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
