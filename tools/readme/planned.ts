/** What the plans of a page's configurations say must be running. */
import { planConfig } from '../../packages/config/src/index.ts';
import type { Block } from './blocks.ts';
import { readConfiguration } from './configurations.ts';

/** A program, and how it is started. */
export interface Started {
  /** Its words, without quotes. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Planned extends Started {
  /** `host:port` */
  readonly at: string;
  /** Lines of a shell that write the files it reads. */
  readonly files: readonly string[];
}

/** The servers of the first stage of a configuration, and the image of its database. */
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

/** A line of a shell, with variables before the program. */
export function startedBy(line: string): Started {
  const words = line.trim().replaceAll("'", '').split(/\s+/);
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const pairs = words.slice(0, first).map((word) => word.split(/=(.*)/s, 2));
  return {
    words: words.slice(first),
    env: Object.fromEntries(pairs.map(([name = '', value = '']) => [name, value])),
  };
}
