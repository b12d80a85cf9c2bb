/** Commands and options of Trinity-RFT 0.6.0 that do not exist here, and their replacements. */

const checkpoints =
  'A checkpoint here is a model folder: trinity convert RUN/global_step_N OUTPUT.';
const run = 'Give the run instead: its configuration, or its folder.';
const log = 'Search RUN/log/trinity.log, or use --warnings or --metric NAME.';

export const otherNames: Readonly<Record<string, string>> = {
  perf: 'Runs measure themselves: see the metrics under timing in the studio, and trinity doctor RUN.',
  'run --dlc': 'Start trinity run on each machine; they share a PostgreSQL database.',
  'convert --base-model-dir': checkpoints,
  'convert --checkpoint-dir': checkpoints,
  'convert --step': checkpoints,
  'log --config': run,
  'log --keyword': log,
  'log --last-n-lines': 'Use --lines.',
  'log --level': 'Use --warnings, or log.level in the file.',
  'log --log-dir': run,
  'log --no-color': 'The output has no colors.',
  'log --search-pattern': log,
  'view --config': run,
  'view --schema': run,
  'view --table': run,
  'view --url': 'Give the run instead: its configuration, its folder, or its database file.',
};

/**
 * Returns advice for a command or option of Trinity-RFT, or undefined for other names.
 * @param problem message of the parser about an unknown command or option
 */
export function whatInstead(problem: string, args: readonly string[]): string | undefined {
  const [, kind, name = ''] = /unknown (command|option) '([\w-]+)'/.exec(problem) ?? [];
  const [command = ''] = args;
  const whole = kind === 'option' ? `${command} ${name}` : name;
  return Object.hasOwn(otherNames, whole) ? otherNames[whole] : undefined;
}
