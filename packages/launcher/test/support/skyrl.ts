/** Starts SkyRL's real Tinker server on the CPU. SkyRL is installed once into the user's cache. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@trinity-rft/core';
import { freePort, installOnce, type Installed } from '@trinity-rft/test-support';

const startMs = 240_000;
const release = '0.4.0';

/**
 * Finds SkyRL or installs it (six gigabytes). SkyRL imports `aiohttp` and `psutil` without
 * declaring them.
 */
export const findSkyrl = (): Promise<Installed> =>
  installOnce({
    name: `skyrl-${release}`,
    packages: [`skyrl[tinker,jax]==${release}`, 'aiohttp', 'psutil', 'torch==2.13.0'],
  });

export interface StartedSkyrl {
  readonly url: string;
  readonly port: number;
  /** Kills the server, like `kill -9`. */
  stop(): Promise<void>;
}

export interface SkyrlOptions {
  readonly uv: string;
  readonly python: string;
  readonly modelPath: string;
  /** Folder for the server's database, checkpoints and log. */
  readonly directory: string;
  /** @default any free port */
  readonly port?: number;
}

const backend = {
  max_lora_adapters: 12,
  max_lora_rank: 8,
  train_micro_batch_size: 32,
  sample_max_num_sequences: 64,
};

/**
 * Starts SkyRL. Resolves when its API answers; its engine may start minutes later. SkyRL must be
 * started with `uv run`.
 */
export async function startSkyrl(options: SkyrlOptions): Promise<StartedSkyrl> {
  const { uv, python, modelPath, directory } = options;
  const port = options.port ?? (await freePort());
  const command = ['run', '--no-project', '--python', python, '-m', 'skyrl.tinker.api'];
  const model = ['--base-model', modelPath, '--backend', 'jax'];
  const settings = ['--backend-config', JSON.stringify(backend)];
  const database = `sqlite:///${path.join(directory, 'tinker.db')}`;
  const storage = ['--checkpoints-base', path.join(directory, 'saved'), '--database-url', database];
  const address = ['--host', '127.0.0.1', '--port', String(port)];
  const child = spawn(uv, [...command, ...model, ...settings, ...storage, ...address], {
    env: skyrlEnvironment(uv),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const log = createWriteStream(path.join(directory, 'skyrl.log'), { flags: 'a' });
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  const url = `http://127.0.0.1:${port}`;
  await answers(child, url);
  return { url, port, stop: () => end(child) };
}

/**
 * Returns the environment variables of SkyRL on a CPU. PATH includes `uv`, because SkyRL starts its
 * engine with `uv`.
 */
export const skyrlEnvironment = (uv: string): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${path.dirname(uv)}${path.delimiter}${process.env['PATH'] ?? ''}`,
  JAX_PLATFORMS: 'cpu',
  HF_HUB_OFFLINE: '1',
});

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

/** Kills the server and its engine, which is a separate process. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}
