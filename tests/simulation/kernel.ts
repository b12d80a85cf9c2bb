/**
 * A world in one thread whose time, order of events and faults follow from a seed. Everything that a
 * simulated process waits for is an event of this queue; between two events all continuations run.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { type Clock, createRandom, deriveSeed, sleep } from '../../packages/core/src/index.ts';
import type { Random } from '../../packages/core/src/random.ts';

/** One life of a simulated process: what it waits for never comes once it is dead. */
export interface Process {
  readonly name: string;
  alive: boolean;
  /** No event of it happens before this time. */
  pausedUntil: number;
  /** Its wall clock minus the true time, in milliseconds. */
  clockOffset: number;
  diskIsFull: boolean;
}

export const newProcess = (name: string): Process => ({
  name,
  alive: true,
  pausedUntil: 0,
  clockOffset: 0,
  diskIsFull: false,
});

interface Event {
  at: number;
  /** Decides between events of the same time. */
  order: number;
  readonly what: string;
  readonly owner: Process | undefined;
  readonly run: () => void;
  cancelled: boolean;
}

export interface Kernel {
  /** True time in milliseconds. */
  now(): number;
  random(name: string): Random;
  /** The process whose code is running. */
  current(): Process | undefined;
  /** Starts the life of a process; resolves or rejects with what `main` does, never if it dies. */
  spawn(process: Process, main: () => Promise<void>): Promise<void>;
  /** Runs `run` after `ms` as part of `owner`, unless it is dead by then. */
  schedule(
    event: { readonly what: string; readonly ms: number; readonly owner: Process | undefined },
    run: () => void,
  ): () => void;
  clock(owner: Process | undefined): Clock;
  /**
   * Runs events until `isOver` or nothing is left to happen before `deadline`.
   * @param afterEvent may throw to stop
   */
  run(options: {
    readonly deadline: number;
    readonly isOver: () => boolean;
    readonly afterEvent: (what: string) => void;
  }): Promise<'over' | 'deadline' | 'nothing left'>;
  /** Digest of all events so far. */
  digest(): string;
  readonly eventCount: number;
}

const running = new AsyncLocalStorage<Process>();

/** The process whose code is running, of whichever kernel. */
export const currentProcess = (): Process | undefined => running.getStore();

export function createKernel(seed: number): Kernel {
  const queue = createQueue();
  const ties = createRandom(deriveSeed(seed, 'order'));
  const trace = createHash('sha256');
  let now = 0;
  let eventCount = 0;

  const schedule: Kernel['schedule'] = ({ what, ms, owner }, run) => {
    const at = now + Math.max(0, ms);
    const event: Event = { at, order: ties.next(), what, owner, run, cancelled: false };
    queue.push(event);
    return () => (event.cancelled = true);
  };

  /** The next event of a living process that is not paused; others are dropped or put off. */
  const next = (deadline: number): Event | undefined => {
    for (;;) {
      const event = queue.peek();
      if (!event || event.at > deadline) return undefined;
      queue.pop();
      if (event.cancelled || event.owner?.alive === false) continue;
      const resumed = event.owner?.pausedUntil ?? 0;
      if (resumed <= event.at) return event;
      Object.assign(event, { at: resumed, order: ties.next() });
      queue.push(event);
    }
  };

  const clock = (owner: Process | undefined): Clock => {
    const after: Clock['after'] = (ms, run) =>
      schedule({ what: `${owner?.name ?? 'world'} timer`, ms, owner }, run);
    return {
      now: () => now + (owner?.clockOffset ?? 0),
      after,
      sleep: (ms, signal) => sleep({ after }, ms, signal),
    };
  };

  return {
    now: () => now,
    random: (name) => createRandom(deriveSeed(seed, name)),
    current: currentProcess,
    spawn: (process, main) =>
      new Promise((resolve, reject) => {
        schedule({ what: `${process.name} starts`, ms: 0, owner: process }, () => {
          main().then(resolve, reject);
        });
      }),
    schedule,
    clock,
    run: async ({ deadline, isOver, afterEvent }) => {
      while (!isOver()) {
        const event = next(deadline);
        if (!event) return queue.peek() ? 'deadline' : 'nothing left';
        now = event.at;
        eventCount += 1;
        trace.update(`${now} ${event.what}\n`);
        if (event.owner) running.run(event.owner, event.run);
        else event.run();
        await settle();
        afterEvent(event.what);
      }
      return 'over';
    },
    digest: () => trace.copy().digest('hex'),
    get eventCount() {
      return eventCount;
    },
  };
}

/** Waits until every continuation that can run has run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const isBefore = (a: Event, b: Event): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order);

/** A binary heap. */
function createQueue() {
  const heap: Event[] = [];
  const swapUp = (index: number): void => {
    const parent = (index - 1) >> 1;
    if (index === 0 || !isBefore(heap[index]!, heap[parent]!)) return;
    [heap[index], heap[parent]] = [heap[parent]!, heap[index]!];
    swapUp(parent);
  };
  const swapDown = (index: number): void => {
    let least = index;
    for (const child of [2 * index + 1, 2 * index + 2])
      if (child < heap.length && isBefore(heap[child]!, heap[least]!)) least = child;
    if (least === index) return;
    [heap[index], heap[least]] = [heap[least]!, heap[index]!];
    swapDown(least);
  };
  return {
    push: (event: Event): void => {
      heap.push(event);
      swapUp(heap.length - 1);
    },
    peek: (): Event | undefined => heap[0],
    pop: (): void => {
      const last = heap.pop();
      if (!last || heap.length === 0) return;
      heap[0] = last;
      swapDown(0);
    },
  };
}
