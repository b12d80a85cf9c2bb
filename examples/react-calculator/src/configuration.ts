/** The configurations of the example, changed. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseDocument, type Document } from 'yaml';

/** The folder of the example. */
export const example = path.join(import.meta.dirname, '..');

export interface Changed {
  /** File of {@link example}. */
  readonly file: string;
  /** Where it is written, as `NAME.yaml`. */
  readonly directory: string;
  /** Of the run. */
  readonly name: string;
  readonly change?: (config: Document) => void;
}

/** @returns the name of the file */
export function writeChanged({ file, directory, name, change }: Changed): string {
  const config = parseDocument(readFileSync(path.join(example, file), 'utf8'));
  config.setIn(['name'], name);
  // In the file, so that later readers, such as `trinity verify`, finds the workflow too.
  config.setIn(['plugins'], config.createNode([path.join(example, 'plugins')]));
  change?.(config);
  writeFileSync(path.join(directory, `${name}.yaml`), String(config));
  return `${name}.yaml`;
}
