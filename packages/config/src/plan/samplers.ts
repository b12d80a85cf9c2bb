/** The servers that a stage samples on, and the commands that start them. */
import type { SamplerConfig, StageConfig } from '../resolve/base/resolved.js';
import { addressOptions, quoted, servedModel } from './shell.js';

export interface PlannedServer {
  readonly url: string;
  readonly command: string;
}

/** In the order of `base_url`. */
export function planSamplers(stage: StageConfig): readonly PlannedServer[] {
  const { sampler, model, mode, part } = stage;
  if (sampler === undefined || mode === 'train' || part === 'train') return [];
  const rank = adapterRank(stage);
  const lora = rank === undefined ? undefined : adapterOptions(rank);
  const shared = [
    // One more than the longest text: vLLM scores a text only where it may add a token.
    ...['--max-model-len', String(model.maxModelLen + 1), '--enable-scale-out'],
    ...['--logprobs-mode', 'processed_logprobs', ...startOptions(sampler), ...(lora ?? [])],
  ];
  const opened = lora ? 'VLLM_ALLOW_RUNTIME_LORA_UPDATING=True' : 'VLLM_SERVER_DEV_MODE=1';
  return sampler.servers.map(({ url, apiKey }) => ({
    url,
    command: [
      ...[opened, 'vllm serve', quoted(servedModel(model)), ...addressOptions(url), ...shared],
      ...(apiKey === undefined ? [] : ['--api-key', '"$VLLM_API_KEY"']),
    ].join(' '),
  }));
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

/** Undefined: all weights are trained. */
function adapterRank({ engine, model }: StageConfig): number | 'RANK' | undefined {
  if (engine === 'tinker') return model.tinker.rank;
  // That of an adapter that exists is in its folder.
  return model.lora?.path === undefined ? model.lora?.rank : 'RANK';
}

const adapterOptions = (rank: number | 'RANK'): readonly string[] => [
  ...['--enable-lora', '--max-loras', '2', '--max-lora-rank'],
  String(ranks.find((one) => rank !== 'RANK' && one >= rank) ?? 'RANK'),
  // Else vLLM 0.32 adapts the output as well, and ends when a text is scored beside others.
  ...['--lora-target-modules', ...modules],
];
