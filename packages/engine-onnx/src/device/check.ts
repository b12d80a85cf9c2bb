/**
 * Compares a GPU with the CPU for one model. Runs in a separate process, because a GPU driver may
 * crash it.
 */
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { join } from 'node:path';

import type { Engine } from '@trinity-rft/core/engine';

import type { LoraOptions } from '../lora/plan.js';
import type { ModelConfig } from '../model/config.js';
import { readModelConfig } from '../storage/model-folder.js';
import { createModelFolder } from '../storage/new-model.js';
import { compareNumbers } from './numbers.js';
import type { StepSize } from './one-step.js';
import { wrongNumbers, type CheckOutcome, type DeviceReport } from './report.js';
import { measureStep } from './step.js';
import { readStored, writeStored, type CheckKey } from './stored.js';

/** The model to check, with the engine's options. */
export interface CheckedModel {
  readonly modelPath: string;
  readonly threads?: number;
  readonly memoryBudgetBytes?: number;
  readonly maxModelLen?: number;
  readonly lora?: LoraOptions;
}

export interface CheckRequest {
  /** URL of the module that runs graphs on the GPU. */
  readonly module: string;
  /** Model to check. @default a small new model */
  readonly model?: CheckedModel;
  /** Empty folder, for files that the check needs. */
  readonly scratch: string;
  /** Folder of the stored results. */
  readonly cache: string;
  /**
   * Source of the result: `stored` returns a stored result only, `any` computes a result if none is
   * stored, and `new` always computes a result.
   */
  readonly use: 'stored' | 'any' | 'new';
  readonly size: StepSize;
}

/** Parts of the engine that a check uses. */
export interface CheckParts {
  readonly open: (
    options: CheckedModel & { readonly runtime: string | undefined },
  ) => Promise<Engine>;
  /**
   * Checks that the GPU supports a model.
   * @throws EngineError if the GPU lacks an operator of the model
   */
  readonly checkModel: (config: ModelConfig, module: string) => Promise<void>;
  readonly report: (line: string) => void;
  /**
   * Called just before the GPU starts to compute, with the key under which the result will be
   * stored.
   */
  readonly begins: (key: CheckKey) => void;
}

/** A GPU adapter: the part of `AdapterFacts` that a check needs. */
interface Adapter {
  readonly vendor: string;
  readonly description: string;
  readonly isSoftware: boolean;
}

/**
 * Compares GPU and CPU for a model, or returns a stored result. Returns undefined if `use` is
 * `stored` and there is no stored result.
 */
export async function checkDevice(
  request: CheckRequest,
  parts: CheckParts,
): Promise<CheckOutcome | undefined> {
  const { module, cache, use, scratch } = request;
  const { listAdapters } = (await import(module)) as {
    readonly listAdapters: () => Promise<readonly [Adapter]>;
  };
  const [adapter] = await listAdapters();
  const model = request.model ?? (await newModel(scratch, adapter));
  const config = await readModelConfig(model.modelPath);
  await parts.checkModel(config, module);
  const key = keyOf(request, { adapter, model, config });
  const place = { folder: cache, key, report: parts.report };
  const stored = use === 'new' ? undefined : await readStored(place);
  if (stored !== undefined || use === 'stored') return stored;
  parts.begins(key);
  const report = await compare(request, { adapter, model, config }, parts);
  await writeStored(place, report);
  return report;
}

interface Checked {
  readonly adapter: Adapter;
  readonly model: CheckedModel;
  readonly config: ModelConfig;
}

async function compare(
  { module, scratch, size }: CheckRequest,
  { adapter, model, config }: Checked,
  { open, report }: CheckParts,
): Promise<DeviceReport> {
  const gpu = adapter.description || adapter.vendor;
  const runtime = { cpu: undefined, webgpu: module };
  report(`Comparing the numbers of ${gpu} with those of the CPU.`);
  const numbers = await compareNumbers(
    (device, tiny) => open({ ...tiny, runtime: runtime[device] }),
    { lora: model.lora !== undefined, scratch },
  );
  if (wrongNumbers({ gpu, numbers }) !== undefined) return { gpu, numbers };
  const { maxModelLen = Infinity } = model;
  const openModel = (device: keyof typeof runtime): Promise<Engine> =>
    open({ ...model, runtime: runtime[device] });
  const step = await measureStep(openModel, { config, maxModelLen, size, report });
  return { gpu, numbers, step };
}

/**
 * Configurations of the small model that is created if the request names no model. A software
 * adapter such as SwiftShader gets a smaller one, because it would need minutes for the
 * configuration of a GPU.
 */
const sizes = {
  gpu: { vocabSize: 8192, hiddenSize: 512, layers: 8, heads: 8, kvHeads: 4 },
  software: { vocabSize: 256, hiddenSize: 32, layers: 1, heads: 2 },
};

async function newModel(scratch: string, { isSoftware }: Adapter): Promise<CheckedModel> {
  const directory = join(scratch, 'model');
  const config = isSoftware ? sizes.software : sizes.gpu;
  await createModelFolder({ directory, seed: 1, config });
  return { modelPath: directory };
}

/**
 * Returns the key under which a result is stored. The key omits the model's path and the seed of
 * new adapters, because results depend only on the shape of the model.
 */
function keyOf({ module, size }: CheckRequest, { adapter, model, config }: Checked): CheckKey {
  const { modelPath: _, lora, ...options } = model;
  const versions = {
    engine: versionOf(import.meta.url, '@trinity-rft/engine-onnx'),
    runtime: versionOf(module, '@trinity-rft/engine-webgpu'),
    webgpu: versionOf(module, 'webgpu'),
  };
  const processor = [cpus()[0]?.model, cpus().length];
  const trained = lora && { ...lora, seed: undefined };
  return { adapter, versions, processor, config, trained, options, size };
}

/**
 * Returns the version of a package, as resolved from the file at `url`, or undefined if the package
 * is not found.
 */
function versionOf(url: string, name: string): string | undefined {
  try {
    return (createRequire(url)(`${name}/package.json`) as { readonly version: string }).version;
  } catch {
    return undefined;
  }
}
