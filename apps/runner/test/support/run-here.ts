/** A run inside the process of the test: no start-up to pay for. */
import { run, type RunOptions, type RunSummary } from '@trinity-rft/launcher';
import type { Workspace } from './workspace.js';

export interface RunHere {
  /** Undefined when it failed. */
  readonly summary: RunSummary | undefined;
  readonly error: Error | undefined;
  /** What the console showed. */
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
