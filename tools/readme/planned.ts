/** Servers that the plans of a page's configurations require. */
import { planConfig } from '../../packages/config/src/index.ts';
import type { Block } from './blocks.ts';
import { readConfiguration } from './configurations.ts';

/** A program and its start command. */
export interface Started {
  /** Words of the command, without quotes. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Planned extends Started {
  /** Address as `host:port`. */
  readonly at: string;
  /** Shell lines that write the files that the program reads. */
  readonly files: readonly string[];
}

/** Servers of the first stage of a configuration, and the image of its database. */
export function plannedOf(
  root: string,
  { text, file }: Block,
): { readonly servers: readonly Planned[]; readonly databaseImage: string | undefined } {
  const { config } = readConfiguration(root, text, file);
  const [stage] = planConfig(config, { file: 'run.yaml' }).stages;
  if (stage === undefined) throw new Error(`${file} has no stage.`);
  const { tinker, servers, processes } = stage;
  const all = [
    ...(tinker === undefined ? [] : [tinker]),
    ...servers.map((server) => ({ ...server, files: [] })),
  ];
  return {
    servers: all.flatMap(({ url, command, files }) =>
      url === undefined || command === undefined
        ? []
        : [{ at: new URL(url).host, files, ...startedBy(command) }],
    ),
    databaseImage: processes.database?.command.split(' ').at(-1),
  };
}

/** Program that a shell line starts, without the variables before it. */
export function startedBy(line: string): Started {
  const words = line.trim().replaceAll("'", '').split(/\s+/);
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const pairs = words.slice(0, first).map((word) => word.split(/=(.*)/s, 2));
  return {
    words: words.slice(first),
    env: Object.fromEntries(pairs.map(([name = '', value = '']) => [name, value])),
  };
}
