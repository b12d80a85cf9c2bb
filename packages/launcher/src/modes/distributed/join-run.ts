/** Makes this process a worker of a training run, sends heartbeats and reports waits. */
import { hostname } from 'node:os';
import {
  type Clock,
  type Logger,
  ConfigError,
  describeError,
  BufferError,
} from '@trinity-rft/core';
import type {
  Agreement,
  JsonState,
  MemberInfo,
  Membership,
  MemberRole,
  RunStore,
  Wait,
} from '@trinity-rft/core/store';
import { isProcessAlive, beginWait, waitingFor } from '@trinity-rft/core/support';

export interface JoinedRun {
  readonly member: Membership;
  /** Reports a wait with every heartbeat, and in the log. @returns function that ends the wait */
  beginWait(wait: Pick<Wait, 'what' | 'on'>): () => void;
  /**
   * Reports a wait with every heartbeat only, for a wait on people, which may take days.
   * @returns function that ends the wait
   */
  readonly showWait: (what: string) => () => void;
  /** Reports a wait until `work` is done. */
  waitFor<T>(wait: Pick<Wait, 'what' | 'on'>, work: () => Promise<T>): Promise<T>;
  /** Signal that aborts with the reason once another process has replaced this one. */
  readonly lost: AbortSignal;
  /** Stops the heartbeats and leaves the training run. */
  leave(): Promise<void>;
}

export interface JoinOptions {
  readonly store: RunStore;
  readonly role: MemberRole;
  readonly name: string;
  readonly agreement?: Agreement;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Returns the version of the weights that this process uses, or has published last, and further
   * values to show to users.
   */
  readonly state: () => { readonly version: number; readonly facts: JsonState };
  readonly signal: AbortSignal;
}

/**
 * Time between two heartbeats, in ms. `trinity status` reports processes without a heartbeat for
 * three seconds.
 */
const beatMs = 1000;

/**
 * Joins the training run.
 * @throws BufferError `MEMBER_ALIVE` naming the process that already has the role, ConfigError when
 * the configuration of another process differs
 */
export async function joinRun(options: JoinOptions): Promise<JoinedRun> {
  const { store, role, name, agreement } = options;
  const info: MemberInfo = { role, name, host: hostname(), pid: process.pid, agreement };
  const member = await joinWhenFree(info, options);
  const waits = new Set<{
    readonly what: string;
    readonly on: string | undefined;
    since: number;
  }>();
  const lost = new AbortController();
  const left = new AbortController();
  const beating = beat({ ...options, member, waits, lost, left: left.signal });
  const show = (wait: Pick<Wait, 'what' | 'on'>): (() => void) => {
    const entry = { ...wait, since: options.clock.now() };
    waits.add(entry);
    return () => void waits.delete(entry);
  };
  const begin: JoinedRun['beginWait'] = ({ what, on }) => {
    const hide = show({ what, on });
    const end = beginWait(options, what, () => causeOf(on, store));
    return () => {
      hide();
      end();
    };
  };
  return {
    member,
    lost: lost.signal,
    beginWait: begin,
    showWait: (what) => show({ what, on: undefined }),
    waitFor: async (wait, work) => {
      const end = begin(wait);
      try {
        return await work();
      } finally {
        end();
      }
    },
    leave: async () => {
      left.abort();
      await beating;
      if (!lost.signal.aborted) await store.leave(member);
    },
  };
}

/**
 * Returns the reason for a long wait, or undefined while a process that can end the wait is
 * working.
 */
async function causeOf(
  on: string | undefined,
  store: Pick<RunStore, 'view'>,
): Promise<string | undefined> {
  if (on === undefined) return '';
  const { members } = await store.view();
  const asked = members.filter(({ role, name }) => role === on || name === on);
  const alive = asked.filter(({ isAlive, hasLeft }) => isAlive && !hasLeft);
  if (alive.some(({ waits }) => waits.length === 0)) return undefined;
  const [other] = alive;
  if (other) return `${other.name} waits for ${other.waits[0]?.what}.`;
  const role = asked[0]?.role ?? on;
  return role === 'trainer' || role === 'explorer' ? absent[role] : `${on} has ended.`;
}

const absent: Readonly<Record<'trainer' | 'explorer', string>> = {
  trainer:
    'no trainer takes part in the run. Start one: trinity run FILE --mode train. To explore without one: trinity run FILE --mode explore --alone.',
  explorer: 'no explorer takes part in the run. Start one: trinity run FILE --mode explore.',
};

/**
 * Maximum time in ms to wait until the other process has left, by the code of the error with which
 * the store refuses to let this process join. A dead process keeps its role until its lease
 * expires.
 */
const patienceMs = { MEMBER_ALIVE: 60_000, MEMBER_DIFFERS: 20_000 };

interface Rival {
  readonly name: string;
  readonly patienceMs: number;
}

async function joinWhenFree(info: MemberInfo, options: JoinOptions): Promise<Membership> {
  const { store, clock, signal } = options;
  const start = clock.now();
  let rejection = '';
  const what = 'a place in the run';
  return waitingFor(options, { what, cause: () => rejection }, async () => {
    for (;;) {
      try {
        return await store.join(info);
      } catch (error) {
        const rival = rivalOf(error);
        const waitedMs = clock.now() - start;
        if (
          rival === undefined ||
          waitedMs > rival.patienceMs ||
          (await isRunning(rival.name, info, store))
        )
          throw asUserError(error);
        rejection = describeError(error);
        await clock.sleep(500, signal);
      }
    }
  });
}

/**
 * Returns the process because of which the store refuses to let this process join; undefined if the
 * error has another cause. The other process may have died without leaving.
 */
function rivalOf(error: unknown): Rival | undefined {
  if (!(error instanceof BufferError)) return undefined;
  if (error.code !== 'MEMBER_ALIVE' && error.code !== 'MEMBER_DIFFERS') return undefined;
  const { name } = error.details;
  return typeof name === 'string' ? { name, patienceMs: patienceMs[error.code] } : undefined;
}

/**
 * Converts the error about differing configurations to a ConfigError, because the user can fix it.
 */
const asUserError = (error: unknown): unknown =>
  error instanceof BufferError && error.code === 'MEMBER_DIFFERS'
    ? new ConfigError(error.message, { code: error.code, cause: error })
    : error;

/**
 * Returns true if the other process still exists. If that process runs on another machine, only
 * missing heartbeats show that it has ended.
 */
async function isRunning(
  rival: string,
  { host }: Pick<MemberInfo, 'host'>,
  store: RunStore,
): Promise<boolean> {
  const { members } = await store.view();
  const holder = members.find((member) => member.isAlive && member.name === rival);
  if (!holder) return false;
  if (holder.host !== host) return holder.silentForMs < 3 * beatMs;
  return isProcessAlive(holder.pid);
}

interface Beating extends JoinOptions {
  readonly member: Membership;
  readonly waits: ReadonlySet<{ what: string; on: string | undefined; since: number }>;
  readonly lost: AbortController;
  readonly left: AbortSignal;
}

/**
 * Sends heartbeats until the process leaves or is replaced. If the store is unreachable, logs a
 * warning and retries.
 */
async function beat({ store, member, waits, lost, left, clock, logger, state }: Beating) {
  let failing = false;
  while (!left.aborted) {
    try {
      const now = clock.now();
      await store.heartbeat(member, {
        ...state(),
        waits: [...waits].map(({ what, on, since }) => ({ what, on, forMs: now - since })),
      });
      failing = false;
    } catch (error) {
      if (error instanceof BufferError && error.code === 'MEMBER_FENCED') {
        lost.abort(error);
        return;
      }
      if (!failing) logger.warn(`No sign of life could be written: ${describeError(error)}`);
      failing = true;
    }
    await clock.sleep(beatMs, left).catch(() => undefined);
  }
}
