/** LISTEN and NOTIFY, on a connection of its own that is made again when it is lost. */
import type { Clock } from '@trinity-rft/core';
import { sleep } from '@trinity-rft/core/internal';
import type { Client } from 'pg';
import { localBell } from './bell.js';

export interface PostgresBell {
  readonly listen: (callback: () => void) => () => void;
  readonly close: () => Promise<void>;
}

const longestPauseMs = 2000;

export function postgresBell(
  connect: () => Promise<Client>,
  clock: Pick<Clock, 'after'>,
): PostgresBell {
  const local = localBell();
  const ended = new AbortController();
  const listening = keepListening(connect, clock, { ring: local.ring, ended: ended.signal });
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
  readonly ring: () => void;
  readonly ended: AbortSignal;
}

/** Whoever waits looks now and then, so that an outage delays it, no more. */
async function keepListening(
  connect: () => Promise<Client>,
  clock: Pick<Clock, 'after'>,
  listening: Listening,
): Promise<void> {
  const { ended } = listening;
  for (let pause = 50; !ended.aborted; pause = Math.min(2 * pause, longestPauseMs)) {
    try {
      await listenOnce(await connect(), listening);
      pause = 50;
    } catch {
      await sleep(clock, pause, ended).catch(() => undefined);
    }
  }
}

/** Resolves when the connection is lost, or at the end. */
async function listenOnce(client: Client, { ring, ended }: Listening): Promise<void> {
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve());
    client.on('end', () => resolve());
    if (ended.aborted) resolve();
    ended.addEventListener('abort', () => resolve(), { once: true });
  });
  try {
    client.on('notification', ring);
    await client.query('LISTEN trinity_run');
    // What was stored since the last connection was lost.
    ring();
    await lost;
  } finally {
    client.end().catch(() => undefined);
  }
}
