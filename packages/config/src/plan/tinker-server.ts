/** The server of `model.tinker`, and the command that starts one of SkyRL. */
import type { StageConfig } from '../resolve/base/resolved.js';
import { addressOptions, quoted, servedModel } from './shell.js';

export interface TinkerServerPlan {
  /** Undefined: hosted Tinker. */
  readonly url: string | undefined;
  /** Undefined where it need not be started. */
  readonly command: string | undefined;
}

/** The model trains, or samples, on servers alone. */
export const runsElsewhere = ({ engine, part, sampler }: StageConfig): boolean =>
  engine === 'tinker' || (part === 'explore' && sampler !== undefined);

/**
 * Undefined where the process uses none.
 * @param url what `TINKER_BASE_URL` says
 */
export function planTinkerServer(
  stage: StageConfig,
  url: string | undefined,
): TinkerServerPlan | undefined {
  const { engine, part, sampler } = stage;
  if (engine !== 'tinker' || (part === 'explore' && sampler !== undefined)) return undefined;
  const address = stage.model.tinker.baseUrl ?? url;
  const isHosted = address === undefined || /\bthinkingmachines\.\w+$/.test(hostOf(address));
  return isHosted
    ? { url: undefined, command: undefined }
    : { url: address, command: skyrlCommand(stage, address) };
}

const hostOf = (address: string): string => URL.parse(address)?.hostname ?? '';

/** `aiohttp` and `psutil` are imported but not declared. */
const packages = ['skyrl[tinker,jax,gpu]==0.4.0', 'aiohttp', 'psutil'];

function skyrlCommand({ model, sampler }: StageConfig, address: string): string {
  const backend = {
    // SkyRL keeps one; the others are for a run, and for one that was killed less than 5 minutes ago.
    max_lora_adapters: 8,
    max_lora_rank: model.tinker.rank,
    train_micro_batch_size: 4,
    ...(sampler === undefined ? { sample_max_num_sequences: 64 } : {}),
    gradient_checkpointing: true,
  };
  return [
    ...['uv run --no-project --python 3.12', ...packages.map((name) => `--with ${quoted(name)}`)],
    ...['-m skyrl.tinker.api --base-model', quoted(model.tinker.baseModel ?? servedModel(model))],
    ...['--backend jax --backend-config', quoted(JSON.stringify(backend))],
    // Without these it writes into its own package, and into /tmp. The first must be absolute.
    ...['--checkpoints-base "$PWD/skyrl-checkpoints"', '--database-url sqlite:///skyrl.db'],
    ...addressOptions(address),
  ].join(' ');
}
