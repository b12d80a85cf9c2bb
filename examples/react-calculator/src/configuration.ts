/** Writes changed copies of the example's configurations. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseDocument, type Document } from 'yaml';

/** Folder of the example. */
export const example = path.join(import.meta.dirname, '..');

export interface Changed {
  /** Name of the configuration file in {@link example}. */
  readonly file: string;
  /** Folder to which the copy is written, as `NAME.yaml`. */
  readonly directory: string;
  /** Name of the run. */
  readonly name: string;
  readonly change?: (config: Document) => void;
}

/**
 * Writes the changed configuration.
 * @returns the name of the file
 */
export function writeChanged({ file, directory, name, change }: Changed): string {
  const config = parseDocument(readFileSync(path.join(example, file), 'utf8'));
  config.setIn(['name'], name);
  // The file names the plugins, so that later readers such as `trinity verify` find the workflow
  // too.
  config.setIn(['plugins'], config.createNode([path.join(example, 'plugins')]));
  change?.(config);
  writeFileSync(path.join(directory, `${name}.yaml`), String(config));
  return `${name}.yaml`;
}
