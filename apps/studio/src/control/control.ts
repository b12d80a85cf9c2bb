/** Actions of the studio, as a part of the studio's HTTP interface. */
import path from 'node:path';
import type { StudioPart } from '@trinity-rft/inspect/studio';
import { addBuilder } from './builder/routes.js';
import { createStartedRuns } from './builder/started.js';
import { actions, routes } from './interface/routes.js';
import { addPlayground } from './playground/routes.js';
import { createSpeakers } from './playground/speakers.js';
import { createProcessReaders } from './processes/readers.js';
import { addProcesses } from './processes/routes.js';

export interface ControlOptions {
  /** Command that starts `trinity`: program and first arguments, such as `node`, `cli.js`. */
  readonly command: readonly string[];
  /** Folder of the configurations. @default the working directory of the process */
  readonly cwd?: string;
  /**
   * Environment variables of started processes.
   * @default the environment of this process
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Creates the actions of the studio, for `parts` of `openStudio`. Started runs continue after the
 * studio is closed.
 */
export function openControl({ command, cwd = '.', env = process.env }: ControlOptions): StudioPart {
  const root = path.resolve(cwd);
  const trinity = { command, env };
  const readers = createProcessReaders();
  const speakers = createSpeakers({ env });
  const runs = createStartedRuns(trinity, root);
  return {
    routes,
    actions,
    add: (api) => {
      addProcesses(api, readers);
      addBuilder(api, { root, trinity, runs });
      addPlayground(api, speakers);
    },
    close: async () => {
      await Promise.all([readers.close(), runs.close(), speakers.close()]);
    },
  };
}
