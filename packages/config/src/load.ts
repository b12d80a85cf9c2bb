/** Reads a configuration: the YAML text, its interpolations, its checks, and what it means. */
import { InvariantError } from '@trinity-rft/core';
import type { ResolvedConfig } from './resolved.js';

export interface ParseConfigOptions {
  /** Name shown in messages. @default "config.yaml" */
  readonly file?: string;
  /** What `${oc.env:...}` sees. @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What relative paths start from. @default the working directory of the process */
  readonly cwd?: string;
  /** Suffix of the run name when the run directory is in use and must not be continued: `20260701093000`. */
  readonly timestamp?: string;
}

export interface LoadedConfig {
  readonly config: ResolvedConfig;
  /** One line each, in the order of the file. */
  readonly warnings: readonly string[];
  /** The file as given, for messages. */
  readonly file: string;
  /** Where a key stands in the file: `buffer.batch_size` -> line and column, from 1. */
  readonly positions: ReadonlyMap<string, SourcePosition>;
}

export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** @throws ConfigError with every problem of the file. */
export async function loadConfig(path: string, options: Omit<ParseConfigOptions, 'file'> = {}): Promise<LoadedConfig> {
  throw new InvariantError(`not written yet: ${path} ${options.cwd ?? ''}`);
}

/** As {@link loadConfig}, from text. Reads, but never writes: model folders, template files and the run directory are looked at. */
export async function parseConfig(text: string, options: ParseConfigOptions = {}): Promise<LoadedConfig> {
  throw new InvariantError(`not written yet: ${text.length} ${options.cwd ?? ''}`);
}
