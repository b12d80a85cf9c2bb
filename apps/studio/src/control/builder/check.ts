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
  /**
   * Signal that ends the check early.
   * @default no signal
   */
  readonly signal?: AbortSignal;
}

/** Timeout of a check in ms, longer than the timeout for an unreachable hub. */
const deadlineMs = 60_000;

/** Checks the text with `trinity config plan`. */
export async function checkConfiguration(
  trinity: TrinityCommand,
  { file, text, cwd, signal }: CheckOptions,
): Promise<Checked> {
  const args = ['config', 'plan', path.relative(cwd, file), '--json', '--stdin'];
  const what = `The check of ${path.basename(file)}`;
  const asked = { args, cwd, input: text, signal, what, deadlineMs };
  const { errors, warnings, ...plan } = (await askTrinity(trinity, asked)) as Answer;
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
