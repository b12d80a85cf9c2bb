/** Plans the server of `model.tinker`, and the commands that start the server. */
import { join } from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { addressProblem, shellText } from '@trinity-rft/core/support';
import { diskAt } from '../resolve/base/disk.js';
import type { StageConfig } from '../resolve/base/resolved.js';
import { addressOptions, servedModel } from './shell.js';

export interface TinkerServerPlan {
  /** URL of the server; undefined for hosted Tinker. */
  readonly url: string | undefined;
  /** Program that `command` starts. */
  readonly program: 'TuFT' | 'SkyRL';
  /**
   * Remark that follows "is started with" in the printed plan, such as a required change to the
   * model folder; may be empty.
   */
  readonly note: string;
  /** Shell commands that write the files that {@link command} reads. */
  readonly files: readonly string[];
  /** Command that starts the server; undefined if the server need not be started. */
  readonly command: string | undefined;
}

/** Returns true if servers do all training or sampling of the process. */
export const runsRemotely = ({ engine, part, sampler }: StageConfig): boolean =>
  engine === 'tinker' || (part === 'explore' && sampler !== undefined);

/**
 * Returns the URL and start command of the Tinker server that a process uses. Returns undefined if
 * the process uses no such server.
 * @param url value of `TINKER_BASE_URL`; an empty string counts as unset
 * @throws ConfigError if `url` is not the address of a server
 */
export function planTinkerServer(
  stage: StageConfig,
  url: string | undefined,
): TinkerServerPlan | undefined {
  const { engine, part, sampler } = stage;
  if (engine !== 'tinker' || (part === 'explore' && sampler !== undefined)) return undefined;
  const { baseUrl } = stage.model.tinker;
  const address = baseUrl ?? (url || undefined);
  const problem = baseUrl === undefined && url && addressProblem(url, 'TINKER_API_KEY');
  if (problem) throw new ConfigError(`TINKER_BASE_URL: ${problem}`, { code: 'TINKER_ADDRESS' });
  const isHosted = address === undefined || /\bthinkingmachines\.\w+$/.test(hostOf(address));
  if (isHosted) return { url: undefined, program: 'TuFT', note: '', files: [], command: undefined };
  if (serverOf(stage) === 'tuft')
    return { url: address, program: 'TuFT', note: '', ...tuftCommands(stage, address) };
  const note = halfPrecisionNote(stage);
  return { url: address, program: 'SkyRL', note, files: [], command: skyrlCommand(stage, address) };
}

/**
 * Returns the program that the plan starts as the Tinker server. By default, this is TuFT if
 * another program samples, otherwise SkyRL. TuFT can also sample with its own vLLM, but this is
 * untested.
 */
export const serverOf = ({ model, sampler }: StageConfig): 'tuft' | 'skyrl' =>
  model.tinker.server ?? (sampler === undefined ? 'skyrl' : 'tuft');

/**
 * Returns a note if the dtype in config.json is or may be 16-bit. SkyRL's JAX backend creates
 * adapters in this dtype, but they must be float32.
 */
function halfPrecisionNote({ model: { isLocal, modelPath } }: StageConfig): string {
  const text = isLocal ? diskAt('.').readText(join(modelPath, 'config.json')) : undefined;
  if (text !== undefined && !/"(?:torch_)?dtype": *"(?:bfloat16|float16)"/.test(text)) return '';
  return ' (with a copy of the model folder whose config.json says "dtype": "float32": it keeps adapters in that type, and bfloat16 ends the run at its start)';
}

/**
 * Returns the shell lines that write TuFT's files, and the command that starts TuFT. The
 * configuration is written as JSON, which is valid YAML. The shell inserts the API key and the
 * working directory.
 */
function tuftCommands({ model }: StageConfig, address: string) {
  const { tinker } = model;
  const trained = JSON.stringify({
    model_name: tinker.baseModel ?? servedModel(model),
    model_path: servedModel(model),
    max_model_len: model.maxModelLen + 1,
    capabilities: ['training'],
    training_backend: 'hf',
    micro_batch_size: 1,
    max_lora_rank: tinker.rank,
  });
  const folder = `'"$PWD"'/tuft`;
  const settings = [
    `{"checkpoint_dir":"${folder}","authorized_users":{"'"$TINKER_API_KEY"'":"run"}`,
    `"persistence":{"mode":"FILE","file_path":"${folder}/state.json"}`,
    `"supported_models":[${trained.replaceAll("'", String.raw`'\''`)}]}`,
  ];
  return {
    files: [
      `echo "vllm ; sys_platform == 'never'" > no-vllm.txt`,
      `echo '${settings.join(',')}' > tuft.yaml`,
    ],
    command: [
      ...['uvx --python 3.12 --overrides no-vllm.txt --from tuft==0.2.2'],
      ...['tuft launch --config tuft.yaml', ...addressOptions(address)],
    ].join(' '),
  };
}

const hostOf = (address: string): string => URL.parse(address)?.hostname ?? '';

/** Python packages to install. SkyRL imports `aiohttp` and `psutil` without declaring them. */
const packages = ['skyrl[tinker,jax,gpu]==0.4.0', 'aiohttp', 'psutil'];

function skyrlCommand({ model, sampler }: StageConfig, address: string): string {
  const backend = {
    // SkyRL reserves one adapter. One adapter is trained, one is a reference, and one is probed.
    // Sampling takes two more.
    max_lora_adapters: sampler === undefined ? 6 : 4,
    max_lora_rank: model.tinker.rank,
    train_micro_batch_size: 4,
    ...(sampler === undefined ? { sample_max_num_sequences: 64 } : {}),
    gradient_checkpointing: true,
  };
  return [
    ...[
      'uv run --no-project --python 3.12',
      ...packages.map((name) => `--with ${shellText(name)}`),
    ],
    ...[
      '-m skyrl.tinker.api --base-model',
      shellText(model.tinker.baseModel ?? servedModel(model)),
    ],
    ...['--backend jax --backend-config', shellText(JSON.stringify(backend))],
    // Without these options, SkyRL writes into its own package and into /tmp. The first path must
    // be absolute.
    ...['--checkpoints-base "$PWD/skyrl-checkpoints"', '--database-url sqlite:///skyrl.db'],
    ...addressOptions(address),
  ].join(' ');
}
