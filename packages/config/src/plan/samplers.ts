/** Plans the servers on which a stage samples, and the commands that start these servers. */
import { shellText } from '@trinity-rft/core/support';
import type { Disk } from '../resolve/base/disk.js';
import type { ModelConfig, SamplerConfig, StageConfig } from '../resolve/base/resolved.js';
import { linearModulesOf, positionsOf, shapeIn } from '../resolve/model/model-folder.js';
import { addressOptions, servedModel } from './shell.js';

export interface PlannedServer {
  readonly url: string;
  /** Remark in parentheses that follows the URL in the plan; may be empty. */
  readonly note: string;
  readonly command: string;
}

/** Returns the servers in the order of `base_url`. */
export function planSamplers(stage: StageConfig, disk: Disk): readonly PlannedServer[] {
  const { sampler, mode, part } = stage;
  if (sampler === undefined || mode === 'train' || part === 'train') return [];
  const { name, servers } = sampler;
  const { command, note } = programs[name]({ stage, sampler, disk });
  const key = ['--api-key', `"$${name.toUpperCase()}_API_KEY"`];
  return servers.map(({ url, apiKey }) => {
    const words = apiKey === undefined ? command(url) : [...command(url), ...key];
    return { url, note, command: words.join(' ') };
  });
}

interface Program {
  readonly command: (url: string) => readonly string[];
  readonly note: string;
}

interface Sampling {
  readonly stage: StageConfig;
  readonly sampler: SamplerConfig;
  readonly disk: Disk;
}

type Planner = (sampling: Sampling) => Program;

/**
 * Returns the assignment of the environment variable that makes a server accept `length` tokens.
 * Returns an empty list if the model's context is long enough.
 */
const longer = (variable: string, length: number, { model }: StageConfig, disk: Disk) =>
  length > positionsOf(model, disk) ? [`${variable}=1`] : [];

/**
 * Returns the option that names the linear layers of the model. The adapters of a training run
 * cover a subset of these layers.
 */
const adaptedLayers = (model: ModelConfig, disk: Disk): readonly string[] => [
  '--lora-target-modules',
  ...linearModulesOf(shapeIn(model, disk)),
];

const vllm: Planner = ({ stage, sampler, disk }) => {
  const { model } = stage;
  // One token more than the longest text, because vLLM scores a text only if there is room to
  // generate a token after the text.
  const length = model.maxModelLen + 1;
  const rank = adapterRank(stage);
  const lora = rank === undefined ? undefined : adapterOptions(rank, adaptedLayers(model, disk));
  const opened = lora ? 'VLLM_ALLOW_RUNTIME_LORA_UPDATING=True' : 'VLLM_SERVER_DEV_MODE=1';
  return {
    note: '',
    command: (url) => [
      ...longer('VLLM_ALLOW_LONG_MAX_MODEL_LEN', length, stage, disk),
      ...[
        opened,
        'VLLM_HTTP_TIMEOUT_KEEP_ALIVE=120',
        'vllm serve',
        shellText(servedModel(model)),
        ...addressOptions(url),
      ],
      ...['--max-model-len', String(length), '--enable-scale-out'],
      ...['--logprobs-mode', 'processed_logprobs', ...startOptions(sampler), ...(lora ?? [])],
    ],
  };
};

/** Plans an SGLang server. SGLang only respects seeds if inference is deterministic. */
const sglang: Planner = ({ stage, sampler: { start }, disk }) => {
  const { model } = stage;
  const length = model.maxModelLen + sglangSpare;
  const rank = adapterRank(stage);
  const { dtype, tensorParallelSize, gpuMemoryUtilization } = start;
  const tensors = tensorParallelSize > 1 ? ['--tp', String(tensorParallelSize)] : [];
  const memory =
    gpuMemoryUtilization === vllmMemory
      ? []
      : ['--mem-fraction-static', String(gpuMemoryUtilization)];
  const lora =
    rank === undefined
      ? []
      : [
          ...['--enable-lora', '--max-loras-per-batch', '2', '--max-lora-rank', String(rank)],
          ...adaptedLayers(model, disk),
        ];
  return {
    note: ' (never run against a real SGLang)',
    command: (url) => [
      ...longer('SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN', length, stage, disk),
      ...['python -m sglang.launch_server --model-path', shellText(servedModel(model))],
      ...[...addressOptions(url), '--context-length', String(length)],
      ...['--dtype', dtype, '--enable-deterministic-inference', ...tensors, ...memory, ...lora],
    ],
  };
};

/** Number of tokens that SGLang reserves in the context. */
const sglangSpare = 8;

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

/** Fraction of GPU memory that vLLM uses by default. */
const vllmMemory = 0.9;

/** Adapter ranks that vLLM supports. */
const ranks = [8, 16, 32, 64, 128, 256, 320, 512];

/**
 * Returns the rank of the adapter, or a placeholder for a stored adapter. Returns undefined if all
 * weights are trained.
 */
function adapterRank({ engine, model }: StageConfig): number | 'RANK' | undefined {
  if (engine === 'tinker') return model.tinker.rank;
  // The rank of a stored adapter is in its folder.
  return model.lora?.path === undefined ? model.lora?.rank : 'RANK';
}

const adapterOptions = (rank: number | 'RANK', layers: readonly string[]): readonly string[] => [
  ...['--enable-lora', '--max-loras', '2', '--max-lora-rank'],
  String(ranks.find((one) => rank !== 'RANK' && one >= rank) ?? 'RANK'),
  // Without this option, vLLM 0.32 adapts the output layer as well, and crashes when it scores
  // several texts together.
  ...layers,
];

const programs: Readonly<Record<SamplerConfig['name'], Planner>> = { vllm, sglang };
