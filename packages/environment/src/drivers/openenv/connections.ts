/**
 * Connections to one server. Their number is limited. While the server is at capacity, new episodes
 * wait.
 */
import { systemClock } from '@trinity-rft/core';
import type { EpisodeStart } from '../../seam/types.js';
import { createSlots } from '../shared/slots.js';
import { createDeadlineClock, untimedOf } from '../../waiting/deadline-clock.js';
import { broken, type Patience, within } from '../../waiting/within.js';
import { type Address, type Connection, connect, unreachable } from './connection.js';
import type { Answer } from './messages.js';

export interface Begun {
  readonly connection: Connection;
  readonly answer: Answer;
  /**
   * Ends the episode. `isInStep` is true if every request has received its response; the connection
   * is then kept for another episode.
   */
  end(isInStep: boolean): void;
}

export interface Connections {
  /**
   * Sends the first message of an episode. Waiting for the response counts towards the episode's
   * time limits; waiting for a connection does not.
   * @throws EnvironmentError if no connection is available in time or the server fails, and
   * CancelledError on abort
   */
  begin(
    message: { readonly type: string; readonly data?: unknown },
    start: EpisodeStart,
    signal: AbortSignal,
  ): Promise<Begun>;
  close(): void;
}

export interface ConnectionsOptions {
  readonly address: Address;
  readonly limit: number;
  /** Maximum wait for a response, in ms. */
  readonly timeoutMs: number;
  /** Maximum wait until the server accepts a connection, in ms. */
  readonly startMs: number;
}

/** Pause between two attempts to connect to a server at capacity, in ms. */
const retryMs = 250;

export function createConnections(options: ConnectionsOptions): Connections {
  const { address, limit, timeoutMs, startMs } = options;
  const { url } = address;
  const slots = createSlots(limit);
  const idle: Connection[] = [];
  const open = new Set<Connection>();

  const drop = (connection: Connection): void => {
    open.delete(connection);
    connection.close();
  };
  const some = async (patience: Patience): Promise<Connection> => {
    let connection = idle.pop();
    while (connection !== undefined && !connection.isUsable()) {
      drop(connection);
      connection = idle.pop();
    }
    connection ??= await connect(address, patience);
    open.add(connection);
    return connection;
  };

  return {
    begin: async (message, start, signal) => {
      const patience = { ms: startMs, signal };
      const untimed = untimedOf(start);
      const release = await slots.take(start, patience, () => busy(url, limit, startMs));
      // The wait for an answer does not count, because it has a limit of its own.
      const { clock, untimed: answered } = createDeadlineClock(systemClock);
      let isFull = false;
      const placed = async (ended: AbortSignal) => {
        for (;;) {
          const connection = await untimed(() => some({ ms: startMs, signal: ended }));
          const asked = { ms: timeoutMs, signal: ended, phase: 'start' } as const;
          try {
            const answer = await answered(() => connection.ask(message, asked));
            isFull = answer.type === 'error' && answer.data.code === 'CAPACITY_REACHED';
            if (!isFull) return { connection, answer };
          } catch (error) {
            drop(connection);
            throw error;
          }
          drop(connection);
          await untimed(() => systemClock.sleep(retryMs, ended));
        }
      };
      try {
        const late = () => (isFull ? full(url, startMs) : unreachable(url));
        const begun = await within({ ...patience, clock }, late, placed);
        const end = (isInStep: boolean): void => {
          if (isInStep && begun.connection.isUsable()) idle.push(begun.connection);
          else drop(begun.connection);
          release();
        };
        return { ...begun, end };
      } catch (error) {
        release();
        throw error;
      }
    },
    close: () => {
      for (const connection of open) connection.close();
      open.clear();
    },
  };
}

const busy = (url: string, limit: number, ms: number) =>
  broken(
    'ENVIRONMENT_CAPACITY',
    `All ${limit} connections to ${url} were in use for ${ms / 1000} s. Raise environment_args.max_connections, or lower explorer.runner_per_model.`,
  );

const full = (url: string, ms: number) =>
  broken(
    'ENVIRONMENT_CAPACITY',
    `${url} had no place for another episode within ${ms / 1000} s. Raise its max_concurrent_envs, or lower environment_args.max_connections.`,
  );
