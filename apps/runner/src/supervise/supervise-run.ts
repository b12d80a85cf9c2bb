/** `trinity run --explorers N`: supervises one trainer and N explorers on this machine. */
import type { Terminal } from '@trinity-rft/launcher';
import { exitCodes } from '../shared/exit-codes.js';
import { interruptible } from '../shared/interrupt.js';
import type { PluginOptions } from '../shared/options.js';
import { startChild, type Child, type ChildEnd } from './child.js';

export interface SuperviseOptions extends PluginOptions {
  readonly configPath: string;
  readonly explorers: number;
  /** File to which the trainer writes metrics. */
  readonly metricsFile: string;
  /** Run name of all processes, which they keep when they are restarted. */
  readonly runName: string;
  readonly newRun?: boolean;
  readonly acceptChangedFiles?: boolean;
}

/**
 * Time in ms in which explorers can notice that the trainer has ended. After that, they are
 * stopped.
 */
const graceMs = 30_000;

/**
 * Runs one trainer and several explorers. Restarts a process that crashes. If a process cannot
 * continue, ends all processes and prints the first cause. Resolves with the exit code of the
 * trainer, or of the explorer that could not continue.
 */
export async function superviseRun(options: SuperviseOptions, terminal: Terminal): Promise<number> {
  const { explorers } = options;
  const onRestart = (message: string): void => terminal.write(`${message}\n`);
  const progress = async (): Promise<number> => {
    const { readMetrics } = await import('@trinity-rft/monitor');
    const lines = await readMetrics(options.metricsFile).catch(() => []);
    // Explore steps may run ahead of a train step that always fails.
    return lines.findLast(({ role }) => role === 'trainer')?.step ?? 0;
  };
  terminal.write(
    `One trainer and ${explorers} explorer${explorers === 1 ? '' : 's'}, each a process of its own.\n`,
  );
  const trainer = startChild({
    name: 'trainer',
    args: argsOf(options, ['--mode', 'train']),
    isShown: true,
    mayBeInterrupted: true,
    progress,
    onRestart,
  });
  const others = Array.from({ length: explorers }, (_, i) => {
    const name = `explorer-${i + 1}`;
    const args = argsOf(options, ['--mode', 'explore', '--explorer-name', name]);
    return startChild({ name, args, isShown: false, progress, onRestart });
  });
  return interruptible(terminal, async (signal) => {
    const stopAll = (): void => [trainer, ...others].forEach((child) => child.stop());
    signal.addEventListener('abort', stopAll, { once: true });
    const first = await firstEnd(trainer, others);
    if (first.name !== 'trainer' && !signal.aborted) report(first, terminal);
    if (first.name !== 'trainer' || first.exitCode !== exitCodes.done) stopAll();
    const [trained] = await Promise.all([trainer.ended, ...others.map(endInTime)]);
    return signal.aborted ? trained.exitCode : first.exitCode;
  });
}

const argsOf = (
  { configPath, runName, plugin, pluginDir, newRun, acceptChangedFiles }: SuperviseOptions,
  own: readonly string[],
): readonly string[] => [
  'run',
  configPath,
  ...own,
  '--run-name',
  runName,
  ...(newRun ? ['--new-run'] : []),
  ...(acceptChangedFiles ? ['--accept-changed-files'] : []),
  ...plugin.flatMap((each) => ['--plugin', each]),
  ...pluginDir.flatMap((each) => ['--plugin-dir', each]),
];

/** Resolves when the trainer has ended or an explorer cannot continue. */
function firstEnd(trainer: Child, others: readonly Child[]): Promise<ChildEnd> {
  const failures = others.map(
    ({ ended }) =>
      new Promise<ChildEnd>((resolve) => {
        void ended.then((end) => end.exitCode !== exitCodes.done && resolve(end));
      }),
  );
  return Promise.race([trainer.ended, ...failures]);
}

async function endInTime(child: Child): Promise<void> {
  const stop = setTimeout(() => child.stop(), graceMs);
  const kill = setTimeout(() => child.kill(), 2 * graceMs);
  await child.ended;
  clearTimeout(stop);
  clearTimeout(kill);
}

function report({ name, exitCode, output }: ChildEnd, terminal: Terminal): void {
  terminal.write(`${name} cannot go on (exit code ${exitCode}), so all are ended:\n${output}\n`);
}
