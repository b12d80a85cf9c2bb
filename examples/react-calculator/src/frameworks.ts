/** The example's run with the agents in `frameworks/`. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { run, type RunSummary, type Terminal } from '@trinity-rft/launcher';
import type { Document } from 'yaml';
import { example, writeChanged } from './configuration.ts';

/** The folders in `frameworks/`, each with a `train.ts` whose workflow has the folder's name. */
export const frameworks: readonly string[] = readdirSync(path.join(example, 'frameworks'), {
  withFileTypes: true,
})
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .toSorted();

/** Frameworks that start a program per run, so that the same training takes minutes. */
export const programs: ReadonlySet<string> = new Set(['process', 'python']);

/** True if the programs and packages that the agent needs are on this machine. */
export const canRun = (framework: string): boolean =>
  framework !== 'python' ||
  spawnSync('python3', ['--version'], { timeout: 120_000, killSignal: 'SIGKILL' }).status === 0;

export interface FrameworkRun {
  /** One of {@link frameworks}. @default the example's own agent */
  readonly framework?: string;
  /** The folder that contains the `runs/data` of `prepare`. */
  readonly directory: string;
  /** Name of the run, whose configuration becomes `NAME.yaml`. */
  readonly name: string;
  /** Edits the example's configuration. */
  readonly change?: (config: Document) => void;
  readonly terminal: Terminal;
}

/** Trains the agent of a framework with the configuration of the example. */
export function runFramework({
  framework,
  directory,
  name,
  change,
  terminal,
}: FrameworkRun): Promise<RunSummary> {
  const configPath = writeChanged({
    file: 'react-calculator.yaml',
    directory,
    name,
    change: (config) => {
      if (framework !== undefined) {
        config.setIn(['buffer', 'explorer_input', 'default_workflow_type'], framework);
        config.addIn(['plugins'], path.join(example, 'frameworks', framework));
      }
      change?.(config);
    },
  });
  return run({ configPath, cwd: directory, terminal });
}
