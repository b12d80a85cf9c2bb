/**
 * Chooses between CPU and GPU for a model, based on a check that compares results and speed of the
 * two devices. Stores the results of checks for later calls.
 */
import { describeError, InvariantError } from '@trinity-rft/core';
import type { DeviceChoice, DeviceModel, DeviceQuestion } from '@trinity-rft/core/engine';

import type { CheckedModel, CheckRequest } from './device/check.js';
import { checkInChild, isEndedEarly } from './device/child.js';
import { tolerances, verdictOf, type CheckOutcome, type DeviceReport } from './device/report.js';
import { resultsFolder, writeStored, type CheckKey } from './device/stored.js';
import type { OnnxEngineOptions } from './protocol/options.js';
import { gpuModule } from './gpu-module.js';
import { onnxOptions } from './engine-options.js';
import { quantizedOptions } from './quantized/options.js';

/** Settings of a device check. Only tests override the defaults. */
export interface CheckSettings extends Pick<CheckRequest, 'cache' | 'size'> {
  readonly deadlineMs: number;
  /**
   * Timeout for finding the GPU, in ms. When it passes, no failure is stored, because the key of a
   * stored result contains the GPU.
   */
  readonly findMs: number;
  /** Returns the URL of the module that runs graphs on the GPU; throws if it is not installed. */
  readonly module: () => string;
}

const defaults = (): CheckSettings => ({
  cache: resultsFolder(),
  size: { answers: 8, promptTokens: 32, answerTokens: 32 },
  deadlineMs: 600_000,
  findMs: 120_000,
  module: gpuModule,
});

/**
 * Implements `EngineFactory.chooseDevice`. Chooses the CPU after any failure except an abort.
 * @throws the signal's reason if it aborts
 */
export async function chooseDevice(
  { measure, report, signal, ...model }: DeviceQuestion,
  settings: Partial<CheckSettings> = {},
): Promise<DeviceChoice> {
  try {
    const use = measure ? 'any' : 'stored';
    const found = await check(model, { use, report, signal }, { ...defaults(), ...settings });
    if (found) return verdictOf(found);
    return { device: undefined, why: notMeasured };
  } catch (error) {
    signal?.throwIfAborted();
    return { device: 'cpu', why: describeError(error) };
  }
}

const notMeasured =
  'Its steps have not been measured on this GPU yet; `trinity doctor gpu FILE` does that.';

/** Result of {@link measureDevices}. */
export interface MeasuredDevices extends DeviceReport {
  /** The device that `model.device: auto` uses from now on. */
  readonly choice: DeviceChoice;
  /** Maximum accepted differences between results of GPU and CPU. */
  readonly tolerances: typeof tolerances;
}

/** Options of {@link measureDevices}. */
export interface MeasureOptions {
  /** Model to measure. @default a small new model */
  readonly model?: DeviceModel;
  /** Callback that receives progress messages, one line each. */
  readonly report: (line: string) => void;
}

/**
 * Checks that this machine's GPU computes the same results as its CPU, within fixed tolerances, and
 * then measures the duration of a training step on both. Stores the outcome.
 * @throws ConfigError if a package is missing; EngineError if there is no GPU, or the GPU cannot
 * run the model or fails
 */
export async function measureDevices({ model, report }: MeasureOptions): Promise<MeasuredDevices> {
  const found = await check(model, { use: 'new', report }, defaults());
  if (!found || 'failure' in found)
    throw new InvariantError('A new check of the GPU has no result.');
  return { ...found, tolerances, choice: verdictOf(found) };
}

interface Asked extends Pick<CheckRequest, 'use'>, Pick<DeviceQuestion, 'report' | 'signal'> {}

/**
 * Runs a check in a child process. If that process crashes or is stopped at its deadline, the
 * failure is stored, so that the check is not repeated.
 */
async function check(
  given: DeviceModel | undefined,
  { use, ...asked }: Asked,
  { cache, size, deadlineMs, findMs, module }: CheckSettings,
): Promise<CheckOutcome | undefined> {
  const runtime = module();
  const model = given && onnxOptions(given);
  if (model) await quantizedOptions({ ...model, runtime });
  const request = { module: runtime, model: model && checkedModel(model), cache, size, use };
  const program = new URL('./device-check.js', import.meta.url);
  let key: CheckKey | undefined;
  const begins = (of: CheckKey): void => void (key = of);
  try {
    return await checkInChild(request, { ...asked, program, deadlineMs, findMs, begins });
  } catch (error) {
    if (key !== undefined && isEndedEarly(error))
      await writeStored({ folder: cache, key, report: asked.report }, { failure: error.message });
    throw error;
  }
}

const checkedModel = ({
  modelPath,
  threads,
  memoryBudgetBytes,
  maxModelLen,
  lora,
}: OnnxEngineOptions): CheckedModel => ({
  modelPath,
  threads,
  memoryBudgetBytes,
  maxModelLen,
  lora,
});
