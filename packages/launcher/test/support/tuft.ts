/** Starts TuFT's real server on the CPU. TuFT is installed once into the user's cache. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@trinity-rft/core';
import { freePort, installOnce, type Installed } from '@trinity-rft/test-support';

const startMs = 240_000;
const release = '0.2.2';
export const tuftKey = 'tml-local';

/** Finds TuFT or installs it (five gigabytes), without vLLM, which only sampling needs. */
export const findTuft = (): Promise<Installed> =>
  installOnce({
    name: `tuft-${release}`,
    packages: [`tuft==${release}`],
    overrides: ["vllm ; sys_platform == 'never'"],
  });

export interface StartedTuft {
  readonly url: string;
  readonly port: number;
  /** Kills the server with its Ray cluster, like `kill -9`. */
  stop(): Promise<void>;
}

export interface TuftOptions {
  readonly python: string;
  /** Model folders, by the names under which clients train them. */
  readonly models: Readonly<Record<string, string>>;
  /** Folder for the server's state, checkpoints and logs. */
  readonly directory: string;
  /** @default any free port */
  readonly port?: number;
  /** @default 64 */
  readonly maxModelLen?: number;
}

/**
 * Python code that patches torch. TuFT's actors reset GPU memory statistics, which fails on a
 * machine without a GPU.
 */
const sitecustomize = `
import importlib.machinery, sys

class Patch:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(Patch)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module
        def exec_module(module):
            load(module)
            if not module.cuda.is_available():
                module.cuda.reset_peak_memory_stats = lambda *_, **__: None
        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Patch)
`;

/** Starts a server that only trains, with its own Ray cluster; resolves when its API answers. */
export async function startTuft(options: TuftOptions): Promise<StartedTuft> {
  const { python, models, directory } = options;
  const ray = await startRay({ python, directory, gpus: Object.keys(models).length });
  const port = options.port ?? (await freePort());
  const config = path.join(directory, 'tuft.yaml');
  writeFileSync(config, JSON.stringify(configOf(options)));
  const serve = ['-m', 'tuft', 'launch', '--config', config];
  const child = start(
    python,
    [...serve, '--host', '127.0.0.1', '--port', String(port)],
    directory,
    ray.env,
  );
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    await end(child);
    await end(ray.child);
  };
  const until = Date.now() + startMs;
  while (!(await answers(url))) {
    if (child.exitCode === null && Date.now() < until) {
      await systemClock.sleep(500);
      continue;
    }
    await stop();
    throw new Error(`TuFT did not answer within ${startMs / 1000} s; see ${directory}/tuft.log.`);
  }
  return { url, port, stop };
}

/**
 * Starts a Ray cluster that claims to have GPUs. Returns the environment variables with which TuFT
 * finds the cluster.
 */
export async function startRay({
  python,
  directory,
  gpus,
}: {
  readonly python: string;
  readonly directory: string;
  readonly gpus: number;
}): Promise<{ readonly child: ChildProcess; readonly env: NodeJS.ProcessEnv }> {
  const site = path.join(directory, 'site');
  mkdirSync(site, { recursive: true });
  writeFileSync(path.join(site, 'sitecustomize.py'), sitecustomize);
  const env = {
    ...process.env,
    PYTHONPATH: site,
    HF_HUB_OFFLINE: '1',
    OMP_NUM_THREADS: '1',
    RAY_USAGE_STATS_ENABLED: '0',
  };
  const port = await freePort();
  const program = path.join(path.dirname(python), 'ray');
  const args = ['start', '--head', '--block', `--num-gpus=${gpus}`, `--port=${port}`];
  const about = ['--include-dashboard=false', `--temp-dir=${path.join(directory, 'ray')}`];
  const words = [program, ...args, ...about, '--node-ip-address=127.0.0.1'];
  const child = start(python, words, directory, env);
  return { child, env: { ...env, RAY_ADDRESS: `127.0.0.1:${port}` } };
}

function start(
  python: string,
  args: readonly string[],
  directory: string,
  env: NodeJS.ProcessEnv,
): ChildProcess {
  const log = createWriteStream(path.join(directory, 'tuft.log'), { flags: 'a' });
  const child = spawn(python, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  return child;
}

/** Returns the configuration as data that is written as JSON, which is valid YAML. */
const configOf = ({ models, directory, maxModelLen = 64 }: TuftOptions) => ({
  checkpoint_dir: path.join(directory, 'saved'),
  authorized_users: { [tuftKey]: 'tests' },
  persistence: { mode: 'FILE', file_path: path.join(directory, 'state.json') },
  supported_models: Object.entries(models).map(([name, folder]) => ({
    model_name: name,
    model_path: folder,
    max_model_len: maxModelLen,
    capabilities: ['training'],
    training_backend: 'hf',
    micro_batch_size: maxModelLen > 64 ? 1 : 64,
    max_lora_rank: 16,
  })),
});

const answers = async (url: string): Promise<boolean> => {
  const headers = { 'x-api-key': tuftKey };
  const path = `${url}/api/v1/get_server_capabilities`;
  return (await fetch(path, { headers }).catch(() => undefined))?.ok ?? false;
};

/** Kills the process and all processes that it has started. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}
