/** The commands for the processes of a distributed run, and the database that they share. */
import type { StageConfig } from '../resolve/base/resolved.js';
import { quoted } from './shell.js';

export interface ProcessesPlan {
  /**
   * One command that starts all processes, or a command for the trainer and another for explorers;
   * empty for a run of one process.
   */
  readonly commands: readonly string[];
  /** Shared database; undefined if a file is shared, or if the address has no host. */
  readonly database: { readonly place: string; readonly command: string } | undefined;
}

/** @param file path of the configuration, for the commands */
export function planProcesses(stage: StageConfig, file: string): ProcessesPlan {
  const run = `trinity run ${quoted(file)}`;
  const { part, mode, cluster, runStore } = stage;
  const database = mode === 'both' ? databasePlan(runStore) : undefined;
  if (part === undefined && cluster.explorers > 0) return { commands: [run], database };
  const distributed = [`${run} --mode train`, `${run} --mode explore --explorer-name NAME`];
  const isDistributed = part !== undefined || database !== undefined;
  return { commands: isDistributed ? distributed : [], database };
}

/** Location of the database, without its password, and the command that starts it. */
function databasePlan(url: string): ProcessesPlan['database'] {
  const address = /^postgres/i.test(url) ? URL.parse(url) : null;
  // An omitted host comes from PGHOST, so no command can be given.
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
