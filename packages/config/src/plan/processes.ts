/**
 * Plans the commands for the processes of a distributed training run, and the database that the
 * processes share.
 */
import { shellText } from '@trinity-rft/core/support';
import type { StageConfig } from '../resolve/base/resolved.js';

export interface ProcessesPlan {
  /**
   * One command that starts all processes, or a command for the trainer and another for explorers.
   * Empty for a training run of one process.
   */
  readonly commands: readonly string[];
  /**
   * Shared PostgreSQL database. Undefined if the processes share a file, or if the URL has no host.
   */
  readonly database: { readonly place: string; readonly command: string } | undefined;
}

/**
 * Plans the commands that start the processes, and the database that they share.
 * @param file configuration path, as written in the commands
 */
export function planProcesses(stage: StageConfig, file: string): ProcessesPlan {
  const run = `trinity run ${shellText(file)}`;
  const { part, mode, cluster, runStore } = stage;
  const database = mode === 'both' ? databasePlan(runStore) : undefined;
  if (part === undefined && cluster.explorers > 0) return { commands: [run], database };
  const distributed = [`${run} --mode train`, `${run} --mode explore --explorer-name NAME`];
  const isDistributed = part !== undefined || database !== undefined;
  return { commands: isDistributed ? distributed : [], database };
}

/**
 * Returns the location of the database, without its password, and the command that starts the
 * database.
 */
function databasePlan(url: string): ProcessesPlan['database'] {
  const address = /^postgres/i.test(url) ? URL.parse(url) : null;
  // An omitted host is read from PGHOST, so the command is unknown.
  if (address === null || address.hostname === '') return undefined;
  const { username: user } = address;
  const name = address.pathname.slice(1);
  const port = address.port === '' ? '5432' : address.port;
  return {
    place: `the PostgreSQL database ${name} on ${address.hostname}:${port}`,
    command: [
      'docker run --detach --name trinity-postgres',
      ...(user === '' ? [] : [`--env POSTGRES_USER=${shellText(user)}`]),
      `--env POSTGRES_PASSWORD --env POSTGRES_DB=${shellText(name)}`,
      `--publish ${port}:5432 --volume trinity-postgres:/var/lib/postgresql postgres:18`,
    ].join(' '),
  };
}
