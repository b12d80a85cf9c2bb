/** `trinity view`: a local page over recorded experiences. */
import { findRecords } from '@trinity-rft/launcher';
import { openViewer } from '@trinity-rft/viewer';
import { untilInterrupted } from './interrupt.js';
import { portOf } from './debug-command.js';
import { exitCodes } from './exit-codes.js';
import { allPluginDirs } from './plugin-dirs.js';

export interface ViewCommandOptions {
  readonly port?: string;
  /** Folder of the model whose tokens they are; found by itself as a rule. */
  readonly tokenizer?: string;
  readonly pluginDir?: readonly string[];
}

/** Serves until Ctrl-C. */
export async function viewCommand(
  run: string,
  { port, tokenizer, pluginDir = [] }: ViewCommandOptions,
  write: (text: string) => void,
): Promise<number> {
  const stores = await findRecords(run, { pluginDirs: allPluginDirs(pluginDir) });
  const given =
    tokenizer === undefined
      ? stores
      : stores.map((store) => ({ ...store, modelFolder: tokenizer }));
  const viewer = await openViewer({ stores: given, port: portOf(port) });
  try {
    write(
      `${given.map(({ database }) => database).join('\n')}\n\nOpen ${viewer.url}\nCtrl-C ends it.\n`,
    );
    await untilInterrupted();
  } finally {
    await viewer.close();
  }
  return exitCodes.done;
}
