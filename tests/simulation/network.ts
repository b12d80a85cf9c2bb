/**
 * Database of a run behind a network that delays, loses, repeats and cuts messages. Losses look as they do with a real
 * database: the connection breaks after a while, it is unknown whether the transaction was committed, and the
 * transaction is repeated.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { BufferError } from '../../packages/core/src/index.ts';
import type { Random } from '../../packages/core/src/random.ts';
import type { RunStore } from '../../packages/core/src/run-store.ts';
import type {
  RunDatabase,
  WriteOptions,
} from '../../packages/buffer/src/run-store/database/run-database.ts';
import type { Kernel, Process } from './kernel.ts';

export interface NetworkFaults {
  /**
   * Probability per transaction that its request is lost. The next three fields are also
   * probabilities per transaction.
   */
  readonly loseRequest: number;
  readonly loseAnswer: number;
  readonly repeatRequest: number;
  readonly loseNotification: number;
  /** Probability of a delay of up to `longestDelayMs` instead of up to 2 ms. */
  readonly delay: number;
  readonly longestDelayMs: number;
}

export const noNetworkFaults: NetworkFaults = {
  loseRequest: 0,
  loseAnswer: 0,
  repeatRequest: 0,
  loseNotification: 0,
  delay: 0,
  longestDelayMs: 2,
};

/** Store calls that send no request to the database. */
const local = ['waitForChange', 'close'] as const satisfies readonly (keyof RunStore)[];

export type StoreVerb = Exclude<keyof RunStore, (typeof local)[number]>;

interface StoreCall {
  readonly verb: StoreVerb;
  readonly args: readonly unknown[];
  /** Arguments of `storeResult` calls that the next transaction stores together. */
  readonly waiting: (readonly unknown[])[];
}

/** Effect of a call in the database. */
export interface Committed {
  readonly verb: StoreVerb;
  readonly args: readonly unknown[];
  readonly caller: string;
  readonly result: unknown;
}

export interface NetworkOptions {
  readonly kernel: Kernel;
  readonly database: RunDatabase;
  /** Current faults; they end eventually, so that a run can end. */
  readonly faults: () => NetworkFaults;
  /** Called after each transaction, even if its caller does not learn of it. */
  readonly onCommit: (committed: Committed) => void;
}

export interface Network {
  /** Connects `process` to the database. */
  connect(process: Process): RunDatabase;
  /** Blocks all transactions of the process until the given time. */
  cut(process: string, until: number): void;
  /** Blocks all transactions until the given time. */
  stopServer(until: number): void;
}

/** Time in ms after which a lost connection is noticed. */
const lostAfterMs = 1000;
/** Time in ms for which a process tries to reach the database. */
const patienceMs = 6000;

const calls = new AsyncLocalStorage<StoreCall>();

/** Wraps a store so that the network knows for which store call it carries a transaction. */
export function observed(store: RunStore): RunStore {
  const waiting: (readonly unknown[])[] = [];
  return new Proxy(store, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function' || local.some((each) => each === name)) return method;
      const verb = name as StoreVerb;
      return (...args: unknown[]): unknown => {
        if (verb === 'storeResult') waiting.push(args);
        return calls.run(
          { verb, args, waiting },
          () => Reflect.apply(method, target, args) as unknown,
        );
      };
    },
  });
}

interface Shared extends NetworkOptions {
  readonly random: Random;
  readonly isCut: (process: Process) => boolean;
  readonly listeners: Set<Listener>;
}

interface Listener {
  readonly process: Process;
  readonly callback: () => void;
  /** True while a notification is on its way. */
  isRung: boolean;
}

export function createNetwork(options: NetworkOptions): Network {
  const { kernel, database } = options;
  const cuts = new Map<string, number>();
  let downUntil = 0;
  const shared: Shared = {
    ...options,
    random: kernel.random('network'),
    listeners: new Set(),
    isCut: ({ name }) => kernel.now() < Math.max(downUntil, cuts.get(name) ?? 0),
  };
  return {
    connect: (process) => ({
      ...database,
      write: (what, work, given) =>
        untilAnswered(shared, process, what, () =>
          thenRing(shared, database.write(what, work, given), given),
        ),
      read: (what, work) => untilAnswered(shared, process, what, () => database.read(what, work)),
      listen: (callback) => {
        const listener = { process, callback, isRung: false };
        shared.listeners.add(listener);
        return () => void shared.listeners.delete(listener);
      },
      close: () => Promise.resolve(),
    }),
    cut: (process, until) => void cuts.set(process, until),
    stopServer: (until) => {
      downUntil = until;
    },
  };
}

type Transaction<T> = () => Promise<T>;

/** Repeats the transaction until its outcome is known. */
async function untilAnswered<T>(
  shared: Shared,
  process: Process,
  what: string,
  transaction: Transaction<T>,
): Promise<T> {
  const { kernel } = shared;
  const clock = kernel.clock(process);
  const commits = commitsOf(shared, process);
  const start = kernel.now();
  for (let waitMs = 100; ; waitMs = Math.min(5000, waitMs * 2)) {
    const answer = await attempt(shared, process, { what, transaction, commits });
    if (answer !== 'lost') {
      if ('error' in answer) throw answer.error;
      return answer.result;
    }
    if (kernel.now() - start > patienceMs)
      throw new BufferError(`The run store could not be reached to ${what}.`, {
        code: 'STORE_UNREACHABLE',
      });
    await clock.sleep(waitMs);
  }
}

type Answer<T> = { readonly result: T } | { readonly error: unknown };

interface Attempt<T> {
  readonly what: string;
  readonly transaction: Transaction<T>;
  readonly commits: (result: unknown) => void;
}

/** Reports the calls that a transaction was made for; `storeResult` calls of one transaction are reported together. */
function commitsOf({ onCommit }: Shared, { name: caller }: Process): (result: unknown) => void {
  const call = calls.getStore();
  if (!call) return () => undefined;
  const { verb, args, waiting } = call;
  if (verb !== 'storeResult') return (result) => onCommit({ verb, args, caller, result });
  const all = waiting.splice(0);
  return (results) =>
    (results as readonly unknown[]).forEach((result, i) =>
      onCommit({ verb, args: all[i] ?? args, caller, result }),
    );
}

function attempt<T>(
  shared: Shared,
  process: Process,
  { what, transaction, commits }: Attempt<T>,
): Promise<Answer<T> | 'lost'> {
  const { kernel, random, isCut } = shared;
  const faults = shared.faults();
  const happens = (probability: number): boolean => random.next() < probability;
  return new Promise((resolve) => {
    const lose = (): void => {
      const event = { what: `${process.name} ${what}: lost`, ms: lostAfterMs, owner: process };
      kernel.schedule(event, () => resolve('lost'));
    };
    const send = (kind: string, owner: Process | undefined, run: () => void): void => {
      kernel.schedule({ what: `${process.name} ${what}${kind}`, ms: delayMs(shared), owner }, run);
    };
    const arrive = async (isAnswered: boolean): Promise<void> => {
      if (isCut(process)) return isAnswered ? lose() : undefined;
      const answer = await settled(transaction);
      if ('result' in answer) commits(answer.result);
      if (!isAnswered) return;
      if (happens(faults.loseAnswer)) return lose();
      send(': answered', process, () => (isCut(process) ? lose() : resolve(answer)));
    };
    if (happens(faults.loseRequest)) return lose();
    send('', undefined, () => void arrive(true));
    if (happens(faults.repeatRequest)) send(' again', undefined, () => void arrive(false));
  });
}

const settled = <T>(transaction: Transaction<T>): Promise<Answer<T>> =>
  transaction().then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  );

function delayMs({ random, faults }: Shared): number {
  const { delay, longestDelayMs } = faults();
  return random.next() < delay ? random.next() * longestDelayMs : 0.2 + random.next() * 1.8;
}

async function thenRing<T>(
  shared: Shared,
  written: Promise<T>,
  { notifies = () => true }: WriteOptions<T> = {},
): Promise<T> {
  const result = await written;
  if (notifies(result)) notify(shared);
  return result;
}

function notify(shared: Shared): void {
  const { kernel, random, faults, isCut, listeners } = shared;
  for (const listener of listeners) {
    const { process, callback, isRung } = listener;
    if (!process.alive || isRung || isCut(process)) continue;
    if (random.next() < faults().loseNotification) continue;
    listener.isRung = true;
    const what = `${process.name} is notified`;
    kernel.schedule({ what, ms: delayMs(shared), owner: process }, () => {
      listener.isRung = false;
      callback();
    });
  }
}
