/** Starts servers of a real vLLM on the CPU. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@trinity-rft/core';
import { freePort } from '@trinity-rft/test-support';

export { findVllm } from '@trinity-rft/test-support';

const startPatienceMs = 420_000;

/** Sizes of a small model for vLLM on a CPU, which needs heads of 32 and an untied output layer. */
export const vllmSizes = {
  hiddenSize: 64,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headDim: 32,
  maxPositions: 64,
  tieEmbeddings: false,
} as const;

export interface StartedVllm {
  readonly url: string;
  /** Kills the server, like `kill -9`. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly python: string;
  readonly modelPath: string;
  readonly maxModelLen: number;
  /** Folder for the server's log. */
  readonly folder: string;
  /** @default any free port */
  readonly port?: number;
  /** @default no adapters */
  readonly lora?: { readonly rank: number };
  /** @default true */
  readonly tokenizer?: boolean;
  /** @default float32 */
  readonly dtype?: 'float32' | 'bfloat16';
}

/** Starts vLLM. Resolves when the server answers. */
export async function startVllm(options: StartOptions): Promise<StartedVllm> {
  const { python, modelPath, folder, lora, tokenizer = true, dtype = 'float32' } = options;
  const port = options.port ?? (await freePort());
  const args = [
    ...['-m', 'vllm.entrypoints.openai.api_server', '--model', modelPath],
    ...['--served-model-name', 'policy', '--host', '127.0.0.1', '--port', String(port)],
    ...['--dtype', dtype, '--max-model-len', String(options.maxModelLen)],
    ...['--max-num-seqs', '64', '--enforce-eager', '--enable-scale-out'],
    ...['--logprobs-mode', 'processed_logprobs', '--max-logprobs', '64'],
    ...(lora ? adapterOptions(lora.rank) : []),
    ...(tokenizer ? [] : ['--skip-tokenizer-init']),
  ];
  const log = path.join(folder, `vllm-${port}.log`);
  const child = spawn(python, args, { cwd: folder, detached: true, env: vllmEnvironment() });
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

/** Options for adapters. vLLM supports only certain maximum ranks. */
const adapterOptions = (rank: number): readonly string[] => [
  ...['--enable-lora', '--max-loras', '2', '--max-lora-rank', String(Math.max(8, rank))],
  // Without this option, the output layer is adapted as well, and the server crashes when it scores
  // several texts together.
  ...['--lora-target-modules', ...linear],
];

/** Environment variables of vLLM on a CPU. */
export const vllmEnvironment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  HF_HUB_OFFLINE: '1',
  VLLM_SERVER_DEV_MODE: '1',
  // Scoring a text generates one more token, so a text of the model's maximum length needs a longer
  // limit.
  VLLM_ALLOW_LONG_MAX_MODEL_LEN: '1',
  VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True',
  VLLM_CPU_KVCACHE_SPACE: '1',
  VLLM_CPU_OMP_THREADS_BIND: 'nobind',
  OMP_NUM_THREADS: '1',
  VLLM_NO_USAGE_STATS: '1',
});

const answers = async (url: string): Promise<boolean> =>
  (await fetch(`${url}/health`).catch(() => undefined))?.ok ?? false;

/** Kills the process and all processes that it has started. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}
