/** Files of Docker Compose, to the extent that the documents use them. */
import type { Started } from './planned.ts';
import { startedBy } from './planned.ts';

export interface Service {
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command: string | readonly string[];
  readonly environment: Readonly<Record<string, string | null>>;
  /** Volume as `SOURCE:TARGET` or `SOURCE:TARGET:ro`. */
  readonly volumes: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** Program that a service runs; for `sh -c`, the program that the shell runs. */
export function startedService({ entrypoint = [], command, environment }: Service): Started {
  // In Compose files, `$$` is an escaped `$`.
  const given = [command].flat().map((word) => word.replaceAll('$$', '$'));
  const env = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
  return { words: programOf([...entrypoint, ...given]), env };
}

/** Words of a command; for `sh -c`, those of the command that the shell runs. */
export function programOf(command: readonly string[]): readonly string[] {
  const [shell, flag, script = ''] = command;
  const line = shell === 'sh' && flag === '-c' ? script.split(/\bexec\s/).at(-1) : undefined;
  return startedBy(line ?? command.join(' ')).words;
}
