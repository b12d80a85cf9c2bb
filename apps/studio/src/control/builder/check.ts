/** Checks a configuration in a separate process, because a check loads plugins. */
import path from 'node:path';
import { renderProblem, type ConfigProblem, type ProblemReport } from '@trinity-rft/config';
import { checked } from '../interface/builder.js';
import type { Checked } from '../interface/index.js';
import { askTrinity, type TrinityCommand } from '../shared/command.js';

export interface CheckOptions {
  readonly file: string;
  /** Text of the configuration, which may differ from the saved file. */
  readonly text: string;
  /** Working directory of the run. */
  readonly cwd: string;
  readonly signal: AbortSignal;
}

/** Timeout of a check in ms, longer than the timeout for an unreachable hub. */
const deadlineMs = 60_000;

/**
 * Runs `trinity config plan` and reads the last line of its output. Plugins may have written
 * earlier lines.
 */
export async function checkConfiguration(
  trinity: TrinityCommand,
  { file, text, cwd, signal }: CheckOptions,
): Promise<Checked> {
  const args = ['config', 'plan', path.relative(cwd, file), '--json', '--stdin'];
  const what = `The check of ${path.basename(file)}`;
  const output = await askTrinity(trinity, { args, cwd, input: text, signal, what, deadlineMs });
  const { errors, warnings, ...plan } = JSON.parse(
    output.trimEnd().split('\n').at(-1) ?? '',
  ) as Answer;
  return checked.parse({
    ...plan,
    problems: errors.map(problemOf),
    warnings: warnings.map((warning) => renderProblem(problemOf(warning))),
  });
}

interface Answer {
  readonly errors: readonly ProblemReport[];
  readonly warnings: readonly ProblemReport[];
}

const problemOf = ({ path: key, message, fix, ...place }: ProblemReport): ConfigProblem => ({
  ...place,
  key,
  message: `${message} ${fix}`.trim(),
});
