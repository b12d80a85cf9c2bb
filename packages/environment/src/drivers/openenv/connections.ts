/**
 * Connections to one server. Their number is limited. While the server is at capacity, new episodes
 * wait.
 */
import { systemClock } from '@trinity-rft/core';
import type { EpisodeStart, Untimed } from '../../seam/types.js';
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

interface Wait {
  readonly untimed: Untimed;
  readonly patience: Patience;
  /** Function for the wait for a response, which has a time limit of its own. */
  readonly answered: Untimed;
  /** Called when the server refuses an episode, because it is at capacity. */
  readonly onRefused: () => void;
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

  /**
   * Tries to send the first message of an episode. Returns undefined if the server is at capacity.
   */
  async function attempt(message: { readonly type: string }, wait: Wait) {
    const { untimed, patience, answered } = wait;
    const connection = await untimed(() => some(patience));
    const { signal } = patience;
    try {
      const answer = await answered(() =>
        connection.ask(message, { signal, ms: timeoutMs, phase: 'start' }),
      );
      if (answer.type !== 'error' || answer.data.code !== 'CAPACITY_REACHED')
        return { connection, answer };
    } catch (error) {
      drop(connection);
      throw error;
    }
    drop(connection);
    return undefined;
  }

  async function placed(message: { readonly type: string }, wait: Wait) {
    for (;;) {
      const begun = await attempt(message, wait);
      if (begun !== undefined) return begun;
      wait.onRefused();
      await wait.untimed(() => systemClock.sleep(retryMs, wait.patience.signal));
    }
  }

  return {
    begin: async (message, start, signal) => {
      const patience = { ms: startMs, signal };
      const untimed = untimedOf(start);
      const release = await slots.take(start, patience, () => busy(url, limit, startMs));
      const { clock, untimed: answered } = createDeadlineClock(systemClock);
      let isFull = false;
      const onRefused = (): void => void (isFull = true);
      try {
        const begun = await within(
          { ...patience, clock },
          () => (isFull ? full(url, startMs) : unreachable(url)),
          (signal) =>
            placed(message, { untimed, answered, onRefused, patience: { ms: startMs, signal } }),
        );
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
