/** What must run elsewhere before a stage starts, and the commands that start it. */
import type { SamplerConfig, StageConfig } from '../resolve/base/resolved.js';

export interface PlannedServer {
  readonly url: string;
  readonly command: string;
}

/** The servers that a stage samples on, in the order of `base_url`. */
export function planServers({ sampler, model, mode, part }: StageConfig): readonly PlannedServer[] {
  if (sampler === undefined || mode === 'train' || part === 'train') return [];
  const lora = model.lora && adapterOptions(model.lora);
  const shared = [
    // One more than the longest text: vLLM scores a text only where it may add a token.
    ...['--max-model-len', String(model.maxModelLen + 1), '--enable-scale-out'],
    ...['--logprobs-mode', 'processed_logprobs', ...startOptions(sampler), ...(lora ?? [])],
  ];
  const opened = lora ? 'VLLM_ALLOW_RUNTIME_LORA_UPDATING=True' : 'VLLM_SERVER_DEV_MODE=1';
  return sampler.servers.map(({ url, apiKey }) => ({
    url,
    command: [
      ...[opened, 'vllm serve', quoted(model.modelPath), ...addressOptions(url), ...shared],
      ...(apiKey === undefined ? [] : ['--api-key', '"$VLLM_API_KEY"']),
    ].join(' '),
  }));
}

function addressOptions(url: string): readonly string[] {
  const { hostname, port, protocol } = new URL(url);
  const isLocal = /^(?:localhost|127\.|\[::1\])/.test(hostname);
  const ownPort = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return ['--host', isLocal ? '127.0.0.1' : '0.0.0.0', '--port', ownPort];
}

function startOptions({ start }: SamplerConfig): readonly string[] {
  const { dtype, tensorParallelSize, gpuMemoryUtilization, enforceEager } = start;
  return [
    ...['--dtype', dtype],
    ...(tensorParallelSize > 1 ? ['--tensor-parallel-size', String(tensorParallelSize)] : []),
    ...(gpuMemoryUtilization === vllmMemory
      ? []
      : ['--gpu-memory-utilization', String(gpuMemoryUtilization)]),
    ...(enforceEager ? ['--enforce-eager'] : []),
  ];
}

/** What vLLM takes by itself. */
const vllmMemory = 0.9;

/** The ranks that vLLM takes. */
const ranks = [8, 16, 32, 64, 128, 256, 320, 512];
const modules = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

function adapterOptions(lora: NonNullable<StageConfig['model']['lora']>): readonly string[] {
  const rank = lora.path === undefined ? ranks.find((one) => one >= lora.rank) : undefined;
  return [
    ...['--enable-lora', '--max-loras', '2', '--max-lora-rank', String(rank ?? 'RANK')],
    // Else vLLM 0.32 adapts the output as well, and ends when a text is scored beside others.
    ...['--lora-target-modules', ...modules],
  ];
}

const quoted = (path: string): string =>
  /^[\w./@:-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
