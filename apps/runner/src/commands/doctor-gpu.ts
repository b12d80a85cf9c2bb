/**
 * `trinity doctor gpu`: lists the GPUs of this machine, and compares their results and speed with
 * those of the CPU.
 */
import type { Command } from 'commander';
import type { MeasuredDevices } from '@trinity-rft/engine-onnx';
import type { AdapterFacts } from '@trinity-rft/engine-webgpu';
import { jsonText, type CommandContext } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import {
  fileOf,
  pluginsOf,
  withFile,
  type FileOptions,
  type PluginOptions,
} from '../shared/options.js';

interface GpuArguments extends FileOptions, PluginOptions {
  readonly json?: boolean;
}

/** Adds `doctor gpu`, which ends with exit code 1 if `model.device: auto` chooses the CPU. */
export const addDoctorGpu = (doctor: Command, { exitWith, write }: CommandContext): void =>
  void withFile(doctor.command('gpu'))
    .description(
      'the GPUs of this machine; compares numbers of the first one with those of the CPU, and measures a step on both',
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\n[file] is a configuration: the model of its first stage is measured, else a small new one. `model.device: auto` uses the stored result. Exit code 1 when it keeps the CPU.',
    )
    .action(
      exitWith(async (named: string | undefined, _: unknown, command: Command) => {
        // The parent command `doctor` also declares some of the options and consumes them.
        const given: GpuArguments = command.optsWithGlobals();
        const isJson = given.json === true;
        const { listAdapters } = await import('@trinity-rft/engine-webgpu');
        const adapters = await listAdapters();
        if (!isJson) write(`${adapters.map(renderAdapter).join('\n')}\n`);
        const measured = await measure(named, given);
        write(isJson ? jsonText({ adapters, ...measured }) : renderMeasured(measured));
        return measured.choice.device === 'webgpu' ? exitCodes.done : exitCodes.failed;
      }),
    );

/**
 * Measures the GPU and the CPU with the model of a configuration, or with a small model with random
 * weights. Writes progress to standard error.
 */
async function measure(named: string | undefined, given: GpuArguments): Promise<MeasuredDevices> {
  const report = (line: string): void => void process.stderr.write(`${line}\n`);
  const { measureDevices } = await import('@trinity-rft/engine-onnx');
  if (named === undefined && given.config === undefined) return measureDevices({ report });
  const configPath = fileOf('doctor gpu', named, given);
  const { readDeviceModel } = await import('@trinity-rft/launcher');
  const model = await readDeviceModel({ configPath, report, ...pluginsOf(given) });
  return measureDevices({ model, report });
}

function renderAdapter({
  vendor,
  architecture,
  description,
  isSoftware,
  limits,
}: AdapterFacts): string {
  const kind = isSoftware ? 'software' : 'hardware';
  const lines = [
    `${[vendor, architecture].filter(Boolean).join(' ')}: ${description} (${kind})`,
    `  largest buffer            ${mebibytes(limits.maxBufferSize)}`,
    `  largest array of a kernel ${mebibytes(limits.maxStorageBufferBindingSize)}`,
    `  arrays of a kernel        ${limits.maxStorageBuffersPerShaderStage}`,
    `  threads of a workgroup    ${limits.maxComputeInvocationsPerWorkgroup}`,
    `  memory of a workgroup     ${limits.maxComputeWorkgroupStorageSize / 1024} KiB`,
  ];
  return `${lines.join('\n')}\n`;
}

const mebibytes = (bytes: number): string => `${Math.floor(bytes / 2 ** 20)} MiB`;

function renderMeasured({ numbers, tolerances, step, choice }: MeasuredDevices): string {
  const row = (what: string, difference: number, most: number): string =>
    `  ${what.padEnd(26)}${difference.toExponential(1)}, at most ${most.toExponential(0)}`;
  const lines = [
    'Largest differences from the CPU, for a tiny model:',
    row('log-probabilities', numbers.logprobs, tolerances.logprobs),
    row('gradients, relative', numbers.gradients, tolerances.gradients),
    row('weights after five steps', numbers.weights, tolerances.weights),
    `  sampled, but not scored alike: ${numbers.unequal} tokens, at most 0`,
    ...(step && !step.isStopped
      ? [`For ${step.model}:`, row('log-probabilities', step.logprobs, tolerances.model)]
      : []),
  ];
  return `${lines.join('\n')}\n\n${choice.why}\nmodel.device: auto uses ${choice.device}.\n`;
}
