/** Checks that an environment fulfils the environment contract. */
import { EnvironmentError, silentLogger, type RawTask } from '@trinity-rft/core';
import type { EnvironmentDefinition } from '../seam/define.js';
import type { Environment } from '../seam/types.js';
import { checks } from './checks.js';
import { failureOf, inTime, openInTime, type Subject } from './transcript.js';

export interface EnvironmentCheck {
  /**
   * The claim about the environment that is checked, such as `equal starts give equal episodes`.
   */
  readonly name: string;
  /** `skipped` if there was nothing to check. */
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Reason for the failure or the skip. For a passed check, what was measured, if anything. */
  readonly detail?: string;
}

export interface CheckOptions {
  /** Arguments of the environment, as in `environment_args`. @default {} */
  readonly args?: Readonly<Record<string, unknown>>;
  /** Task rows to play. @default 20 rows that the environment generates */
  readonly rows?: readonly RawTask[];
  /**
   * Number of episodes that are open at the same time. Use fewer if each episode starts a process.
   * @default 100
   */
  readonly episodesAtOnce?: number;
  /** Timeout of each call to the environment, in milliseconds. @default 60_000 */
  readonly timeoutMs?: number;
  /** Name of the setting that sets the timeout, used in error messages. @default "timeoutMs" */
  readonly limitName?: string;
  /** Signal that aborts the checks. @default no signal */
  readonly signal?: AbortSignal;
  /** Called with each result as soon as it is available. */
  readonly onCheck?: (check: EnvironmentCheck) => void;
}

const rowCount = 20;

/**
 * Opens the environment, plays episodes, and closes it. Never rejects: failures are returned as
 * results.
 * @returns the results in order, or a single result if the environment cannot be opened
 */
export async function checkEnvironment(
  definition: EnvironmentDefinition,
  { args = {}, episodesAtOnce = 100, timeoutMs = 60_000, onCheck, ...options }: CheckOptions = {},
): Promise<readonly EnvironmentCheck[]> {
  const results: EnvironmentCheck[] = [];
  const add = (check: EnvironmentCheck): void => {
    results.push(check);
    onCheck?.(check);
  };
  const { signal = new AbortController().signal, limitName = 'timeoutMs' } = options;
  let environment: Environment | undefined;
  let subject: Subject | undefined;
  let counted: string | undefined;
  const failure = await failureOf(async () => {
    const opened = await openInTime({ timeoutMs, signal }, (ended) =>
      definition.open(args, { logger: silentLogger, signal: ended }),
    );
    environment = opened;
    const range = { split: 'train', count: rowCount, seed: 1 } as const;
    const generated = options.rows ? undefined : definition.tasks?.(range, args);
    const rows = options.rows ?? generated ?? [{}];
    const limits = { episodesAtOnce, timeoutMs, limitName };
    subject = { definition, args, environment: opened, rows, signal, ...limits };
    if (generated?.length === 0)
      throw new EnvironmentError('`tasks` returned no rows.', { code: 'TASKS_NOT_GENERATED' });
    if (generated && generated.length !== rowCount)
      counted = `${generated.length} tasks, where \`count\` is ${rowCount}`;
  });
  const first = resultOf('opens, and has tasks', failure);
  add(failure === undefined && counted !== undefined ? { ...first, detail: counted } : first);
  if (subject !== undefined)
    for (const [name, check] of Object.entries(checks)) add(await run(name, check, subject));
  const toClose = environment;
  if (toClose === undefined) return results;
  const closing = await failureOf(async () => {
    await inTime({ timeoutMs }, () => toClose.close());
    await inTime({ timeoutMs }, () => toClose.close());
  });
  add(resultOf('closes, and closes again', closing));
  return results;
}

const resultOf = (name: string, failure: string | undefined): EnvironmentCheck =>
  failure === undefined
    ? { name, outcome: 'passed' }
    : { name, outcome: 'failed', detail: failure };

async function run(
  name: string,
  check: (typeof checks)[string],
  subject: Subject,
): Promise<EnvironmentCheck> {
  let found: Awaited<ReturnType<typeof check>> = {};
  const failure = await failureOf(async () => {
    found = await check(subject);
  });
  if (failure !== undefined) return resultOf(name, failure);
  if (found.skipped !== undefined) return { name, outcome: 'skipped', detail: found.skipped };
  return found.failed === undefined
    ? { name, outcome: 'passed', detail: found.passed }
    : { name, outcome: 'failed', detail: found.failed };
}
