/** Runs a configuration in the process of the test, which saves the start-up time. */
import path from 'node:path';
import { run, type RunOptions, type RunSummary } from '@trinity-rft/launcher';
import { metricLines, type MetricLine } from './run-record.js';
import type { Tree, Workspace } from './workspace.js';

export interface RunHere {
  /** Undefined if the run failed. */
  readonly summary: RunSummary | undefined;
  readonly error: Error | undefined;
  /** Output on the console. */
  readonly output: string;
}

/** Runs `config` in the workspace, with its plugins, as `trinity run --plugin-dir plugins` does. */
export async function runHere(
  workspace: Workspace,
  configPath: string,
  options: Partial<RunOptions> = {},
): Promise<RunHere> {
  let output = '';
  const terminal = {
    write: (text: string) => void (output += text),
    isTTY: false,
    columns: () => 80,
  };
  try {
    const summary = await run({
      configPath,
      cwd: workspace.root,
      pluginDirs: ['plugins'],
      env: {},
      terminal,
      ...options,
    });
    return { summary, error: undefined, output };
  } catch (error) {
    return { summary: undefined, error: error as Error, output };
  }
}

/**
 * Runs the base configuration with changes, under a name, to its end.
 * @throws the error of the run
 */
export async function finishHere(
  workspace: Workspace,
  name: string,
  ...over: readonly Tree[]
): Promise<{
  readonly file: string;
  readonly output: string;
  readonly lines: readonly MetricLine[];
}> {
  const file = workspace.config(`${name.replaceAll('/', '-')}.yaml`, ...over, { name });
  const { error, output } = await runHere(workspace, file);
  if (error !== undefined) throw error;
  return { file, output, lines: metricLines(path.join(workspace.root, 'runs/tests', name)) };
}
