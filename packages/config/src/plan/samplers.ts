/** The servers that a stage samples on, and the commands that start them. */
import type { Disk } from '../resolve/base/disk.js';
import type { ModelConfig, SamplerConfig, StageConfig } from '../resolve/base/resolved.js';
import {
  linearModulesOf,
  readModelFolder,
  type ModelShape,
} from '../resolve/model/model-folder.js';
import { addressOptions, quoted, servedModel } from './shell.js';

export interface PlannedServer {
  readonly url: string;
  /** Requirement for starting the server, as the rest of a sentence; may be empty. */
  readonly note: string;
  readonly command: string;
}

/** The servers in the order of `base_url`. */
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

/** Environment setting that lets a server allow more tokens than the model has positions for. */
const longer = (variable: string, length: number, { model }: StageConfig, disk: Disk) =>
  length > positionsOf(model, disk) ? [`${variable}=1`] : [];

/** Number of positions of the model; infinity if it is not known. */
const positionsOf = (model: ModelConfig, disk: Disk): number =>
  shapeIn(model, disk)?.maxPositions ?? Infinity;

/** Shape of the model; undefined if the model is not on this machine. */
function shapeIn({ isLocal, modelPath }: ModelConfig, disk: Disk): ModelShape | undefined {
  const folder = isLocal ? readModelFolder(disk, modelPath) : undefined;
  return folder?.kind === 'shape' ? folder.shape : undefined;
}

/** Linear layers of the model, which the adapters of a run are part of. */
const adaptedLayers = (model: ModelConfig, disk: Disk): readonly string[] => [
  '--lora-target-modules',
  ...linearModulesOf(shapeIn(model, disk)),
];

const vllm: Planner = ({ stage, sampler, disk }) => {
  const { model } = stage;
  // One more than the longest text: vLLM scores a text only where it may add a token.
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
        quoted(servedModel(model)),
        ...addressOptions(url),
      ],
      ...['--max-model-len', String(length), '--enable-scale-out'],
      ...['--logprobs-mode', 'processed_logprobs', ...startOptions(sampler), ...(lora ?? [])],
    ],
  };
};

/** SGLang only respects seeds with deterministic inference. */
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
      ...['python -m sglang.launch_server --model-path', quoted(servedModel(model))],
      ...[...addressOptions(url), '--context-length', String(length)],
      ...['--dtype', dtype, '--enable-deterministic-inference', ...tensors, ...memory, ...lora],
    ],
  };
};

/** Positions that SGLang reserves. */
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

/** Share of the GPU's memory that vLLM takes by default. */
const vllmMemory = 0.9;

/** Adapter ranks that vLLM supports. */
const ranks = [8, 16, 32, 64, 128, 256, 320, 512];

/**
 * Rank of the adapter, a placeholder for a stored adapter; undefined if all weights are trained.
 */
function adapterRank({ engine, model }: StageConfig): number | 'RANK' | undefined {
  if (engine === 'tinker') return model.tinker.rank;
  // That of an adapter that exists is in its folder.
  return model.lora?.path === undefined ? model.lora?.rank : 'RANK';
}

const adapterOptions = (rank: number | 'RANK', layers: readonly string[]): readonly string[] => [
  ...['--enable-lora', '--max-loras', '2', '--max-lora-rank'],
  String(ranks.find((one) => rank !== 'RANK' && one >= rank) ?? 'RANK'),
  // Else vLLM 0.32 adapts the output as well, and crashes when a text is scored along with others.
  ...layers,
];

const programs: Readonly<Record<SamplerConfig['name'], Planner>> = { vllm, sglang };
