/** The processes of a run that are apart, and the database where they meet. */
import type { StageConfig } from '../resolve/base/resolved.js';
import { quoted } from './shell.js';

export interface ProcessesPlan {
  /** One for all, or one for the trainer and one for each explorer; none: a single process. */
  readonly commands: readonly string[];
  /** Undefined: they share a file, or there is one process. */
  readonly database: { readonly place: string; readonly command: string } | undefined;
}

/** @param file the configuration */
export function planProcesses(stage: StageConfig, file: string): ProcessesPlan {
  const run = `trinity run ${quoted(file)}`;
  const { part, mode, cluster, runStore } = stage;
  const database = mode === 'both' ? databasePlan(runStore) : undefined;
  if (part === undefined && cluster.explorers > 0) return { commands: [run], database };
  const apart = [`${run} --mode train`, `${run} --mode explore --explorer-name NAME`];
  const isApart = part !== undefined || database !== undefined;
  return { commands: isApart ? apart : [], database };
}

/** Excludes its password. */
function databasePlan(url: string): ProcessesPlan['database'] {
  const address = /^postgres/i.test(url) ? URL.parse(url) : null;
  // A host that is left out comes from PGHOST, and so on.
  if (address === null || address.hostname === '') return undefined;
  const { username: user } = address;
  const name = address.pathname.slice(1);
  const port = address.port === '' ? '5432' : address.port;
  return {
    place: `the PostgreSQL database ${name} on ${address.hostname}:${port}`,
    command: [
      'docker run --detach --name trinity-postgres',
      ...(user === '' ? [] : [`--env POSTGRES_USER=${quoted(user)}`]),
      `--env POSTGRES_PASSWORD --env POSTGRES_DB=${quoted(name)}`,
      `--publish ${port}:5432 --volume trinity-postgres:/var/lib/postgresql postgres:18`,
    ].join(' '),
  };
}
