/** `trinity doctor gpu`: the GPUs of this machine, and what is missing to use one. */
import type { Command } from 'commander';
import type { AdapterFacts } from '@trinity-rft/engine-webgpu';
import { jsonText, type CommandContext } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';

/** Exit code 1 when every GPU is software. */
export const addDoctorGpu = (doctor: Command, { exitWith, write }: CommandContext): void =>
  void doctor
    .command('gpu')
    .description('the GPUs of this machine, what they allow, and what is missing to use one')
    .option('--json', 'as JSON')
    .action(
      exitWith(async (_: unknown, command: Command) => {
        // `doctor` has the option as well, and takes it.
        const given: { readonly json?: boolean } = command.optsWithGlobals();
        const { listAdapters } = await import('@trinity-rft/engine-webgpu');
        const adapters = await listAdapters();
        write(given.json === true ? jsonText(adapters) : render(adapters));
        return adapters.every(({ isSoftware }) => isSoftware) ? exitCodes.failed : exitCodes.done;
      }),
    );

const noHardware =
  'None of them is hardware. Install the driver of the GPU, or keep model.device: cpu.\n';

function render(adapters: readonly AdapterFacts[]): string {
  const isAllSoftware = adapters.every(({ isSoftware }) => isSoftware);
  return adapters.map(renderAdapter).join('\n') + (isAllSoftware ? `\n${noHardware}` : '');
}

function renderAdapter({
  vendor,
  architecture,
  description,
  isSoftware,
  limits,
}: AdapterFacts): string {
  const kind = isSoftware ? 'software: slower than the engine on the CPU' : 'hardware';
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
