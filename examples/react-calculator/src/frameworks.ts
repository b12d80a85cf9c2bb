/**
 * The example's run with an agent of another framework: what each folder of `frameworks/` holds.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { run, type RunSummary, type Terminal } from '@trinity-rft/launcher';
import { parseDocument, type Document } from 'yaml';

const example = path.join(import.meta.dirname, '..');

/** Folders with a `train.ts`, whose workflow has the name of the folder. */
export const frameworks: readonly string[] = readdirSync(path.join(example, 'frameworks'), {
  withFileTypes: true,
})
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .toSorted();

/** Those that start a program for every run: the same training takes them minutes. */
export const programs: ReadonlySet<string> = new Set(['process', 'python']);

/** Whether everything that the agent needs is on this machine. */
export const canRun = (framework: string): boolean =>
  framework !== 'python' || spawnSync('python3', ['--version']).status === 0;

export interface FrameworkRun {
  /** One of {@link frameworks}; absent for the example's own agent. */
  readonly framework?: string | undefined;
  /** Where `prepare` has put its `runs/data`. */
  readonly directory: string;
  /** Name of the run; its configuration is written to `NAME.yaml`. */
  readonly name: string;
  /** Changes the example's configuration. */
  readonly change?: (config: Document) => void;
  readonly terminal: Terminal;
}

/** Trains with the configuration of the example but for the agent. */
export function runFramework({
  framework,
  directory,
  name,
  change,
  terminal,
}: FrameworkRun): Promise<RunSummary> {
  const config = parseDocument(readFileSync(path.join(example, 'react-calculator.yaml'), 'utf8'));
  config.setIn(['name'], name);
  if (framework !== undefined)
    config.setIn(['buffer', 'explorer_input', 'default_workflow_type'], framework);
  change?.(config);
  writeFileSync(path.join(directory, `${name}.yaml`), String(config));
  const folders = [
    'plugins',
    ...(framework === undefined ? [] : [path.join('frameworks', framework)]),
  ];
  return run({
    configPath: `${name}.yaml`,
    pluginDirs: folders.map((folder) => path.join(example, folder)),
    cwd: directory,
    terminal,
  });
}
