/** Resolves the servers that sample instead of the engine that trains. */
import type { ServerAddress } from '@trinity-rft/core/engine';
import { addressProblem } from '@trinity-rft/core/support';
import { samplerNames } from '../../schema/engines.js';
import type { KeyPath } from '../../source/node.js';
import { showValue } from '../../source/secrets.js';
import { sayIgnored, type StageContext } from '../base/context.js';
import type { SamplerConfig } from '../base/resolved.js';

const section: KeyPath = ['explorer', 'rollout_model'];
const at = (key: string): KeyPath => [...section, key];

/**
 * Maximum mean absolute difference per token, in nats, between the log-probabilities that the
 * sampling program and the training program compute for a sequence that neither of them has
 * sampled. In float32, programs with the same weights differ by 1e-6. In bfloat16, they differ by
 * up to 0.6 at single tokens and by 0.1 on average. Programs with different models differ by
 * several nats.
 */
const tolerances = { float32: 5e-4, lower: 0.5 } as const;

/** Default options for starting the servers. */
const startDefaults = {
  tensor_parallel_size: 1,
  gpu_memory_utilization: 0.9,
  enforce_eager: false,
  dtype: 'bfloat16',
} as const;

/**
 * Returns the servers that sample and their settings, or undefined if the engine that trains also
 * samples.
 */
export function deriveSampler(context: StageContext): SamplerConfig | undefined {
  const sampler = readSampler(context);
  if (sampler === undefined) {
    warnOfStart(context);
    checkTrainingServer(context);
  }
  return sampler;
}

/** Reports TuFT without servers that sample, because the plan starts TuFT without a sampler. */
function checkTrainingServer({ input, report }: StageContext): void {
  const { enable, server } = input.model.tinker;
  const types = [input.trainer.trainer_type, input.explorer.rollout_model.engine_type];
  const isUsed = enable || types.includes('tinker');
  if (server !== 'tuft' || !isUsed || input.mode === 'train') return;
  report(
    ['model', 'tinker', 'server'],
    'got "tuft", which only trains as the plan starts it. Sample on vLLM (explorer.rollout_model.engine_type and base_url), or use skyrl.',
    [at('base_url')],
  );
}

function warnOfStart(context: StageContext): void {
  const { rollout_model: input } = context.input.explorer;
  for (const [key, standard] of Object.entries(startDefaults)) {
    const value = input[key as keyof typeof startDefaults];
    if (value === standard) continue;
    context.warn(at(key), `ignored (${showValue(value)}). It is for the vLLM servers of base_url.`);
  }
}

function readSampler(context: StageContext): SamplerConfig | undefined {
  const { rollout_model: input } = context.input.explorer;
  const { engine_type: type, base_url: urls } = input;
  const name = samplerNames.find((known) => known === type);
  if (urls === null || urls.length === 0) {
    warnOfNoServers(context, name);
    return undefined;
  }
  if (name === undefined) {
    context.report(
      at('base_url'),
      `is only used with engine_type: ${samplerNames.join(' or ')}. Set it, or remove base_url.`,
      [at('engine_type')],
    );
    return undefined;
  }
  if (context.input.explorer.constrained_decoding)
    context.report(
      ['explorer', 'constrained_decoding'],
      `got true, but ${name} servers cannot restrict answers here. Set it to false.`,
    );
  checkOutputLayer(context, name);
  const { dtype } = input;
  return {
    name,
    servers: urls.flatMap((url) => serverAt(context, url) ?? []),
    tolerance: dtype === 'float32' ? tolerances.float32 : tolerances.lower,
    start: {
      dtype,
      tensorParallelSize: input.tensor_parallel_size,
      gpuMemoryUtilization: input.gpu_memory_utilization,
      enforceEager: input.enforce_eager,
    },
  };
}

/**
 * Reports a key that requests an adapter of the output layer, because these servers do not support
 * it. The default also requests one, for servers of the Tinker protocol, but is not reported.
 */
function checkOutputLayer(context: StageContext, name: string): void {
  const path: KeyPath = ['model', 'tinker', 'train_unembed'];
  if (context.isSet(...path) && context.input.model.tinker.train_unembed)
    context.report(
      path,
      `got true, but ${name} servers take no adapter of the output layer. Use false.`,
      [at('engine_type')],
    );
}

function warnOfNoServers(context: StageContext, name: string | undefined): void {
  const isOwn = name !== undefined && Object.hasOwn(context.engines, name);
  if (name !== undefined && !isOwn)
    context.warn(
      at('engine_type'),
      'ignored. The embedded engine samples instead; give base_url to sample on servers.',
    );
  sayIgnored(context, section, ['api_key'], 'Every run gets its own key.');
}

function serverAt(context: StageContext, address: string): ServerAddress | undefined {
  const { api_key: apiKey } = context.input.explorer.rollout_model;
  const problem = addressProblem(address, 'api_key, as ${oc.env:VLLM_API_KEY}');
  if (problem !== undefined) {
    context.report(at('base_url'), problem);
    return undefined;
  }
  const { origin, pathname } = new URL(address);
  const root = `${origin}${pathname}`.replace(/\/+$/, '').replace(/\/v1$/, '');
  return apiKey === 'EMPTY' ? { url: root } : { url: root, apiKey };
}
