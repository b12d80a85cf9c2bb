/**
 * Notifier that uses LISTEN and NOTIFY on a separate connection. Reconnects if the connection is
 * lost.
 */
import { type Clock, sleep } from '@trinity-rft/core';
import { untilAborted } from '@trinity-rft/core/support';
import type { Client } from 'pg';
import { localNotifier } from './notifier.js';

export interface PostgresNotifier {
  readonly listen: (callback: () => void) => () => void;
  readonly close: () => Promise<void>;
}

const longestPauseMs = 2000;
/** Milliseconds between the queries by which lost connections are detected that cause no error. */
const askEveryMs = 10_000;

export function postgresNotifier(
  connect: () => Promise<Client>,
  clock: Pick<Clock, 'after'>,
): PostgresNotifier {
  const local = localNotifier();
  const ended = new AbortController();
  const listening = keepListening(connect, { clock, notify: local.notify, ended: ended.signal });
  return {
    listen: local.listen,
    close: async () => {
      ended.abort();
      await listening;
      local.close();
    },
  };
}

interface Listening {
  readonly clock: Pick<Clock, 'after'>;
  readonly notify: () => void;
  readonly ended: AbortSignal;
}

/**
 * Listens until the notifier is closed, and reconnects if the connection is lost. During an outage,
 * waiting calls notice changes later, because they also poll.
 */
async function keepListening(connect: () => Promise<Client>, listening: Listening): Promise<void> {
  const { clock, ended } = listening;
  for (let pause = 50; !ended.aborted; pause = Math.min(2 * pause, longestPauseMs)) {
    const isConnected = await connect().then(
      (client) => listenOnce(client, listening),
      () => false,
    );
    if (isConnected) pause = 50;
    await sleep(clock, pause, ended).catch(() => undefined);
  }
}

/**
 * Listens until the connection is lost or the notifier is closed.
 * @returns true if the connection was listening before it was lost
 */
async function listenOnce(client: Client, { clock, notify, ended }: Listening): Promise<boolean> {
  const lost = new AbortController();
  const lose = (): void => lost.abort();
  client.on('error', lose);
  client.on('end', lose);
  client.on('notification', notify);
  ended.addEventListener('abort', lose);
  if (ended.aborted) lose();
  let hasListened = false;
  try {
    await untilAborted(client.query('LISTEN trinity_run'), lost.signal);
    hasListened = true;
    // Changes may have been committed while there was no connection.
    notify();
    for (;;) {
      await sleep(clock, askEveryMs, lost.signal);
      await untilAborted(client.query('SELECT 1'), lost.signal);
    }
  } catch {
    return hasListened;
  } finally {
    ended.removeEventListener('abort', lose);
    client.end().catch(() => undefined);
  }
}
