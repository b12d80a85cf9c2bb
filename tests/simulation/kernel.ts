/**
 * Single-threaded simulation whose time, order of events and faults follow from a seed. A simulated process only waits
 * for events of this queue; between two events all continuations run.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { type Clock, createRandom, deriveSeed, sleep } from '../../packages/core/src/index.ts';
import type { Random } from '../../packages/core/src/random.ts';

/** One life of a simulated process; after its death, events that it waits for never occur. */
export interface Process {
  readonly name: string;
  alive: boolean;
  /** Time before which no event of the process occurs. */
  pausedUntil: number;
  /** Wall clock of the process minus the true time, in milliseconds. */
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
  /** Order among events of the same time. */
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
  /** Starts a process. Settles as `main` does; stays pending if the process dies. */
  spawn(process: Process, main: () => Promise<void>): Promise<void>;
  /** Runs `run` after `ms` as part of `owner`, unless the owner is dead by then. */
  schedule(
    event: { readonly what: string; readonly ms: number; readonly owner: Process | undefined },
    run: () => void,
  ): () => void;
  clock(owner: Process | undefined): Clock;
  /**
   * Runs events until `isOver`, or until no event is left before `deadline`.
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

/** Process whose code is running, in any kernel. */
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

  /**
   * Next event of a living process that is not paused. Drops events of dead processes and postpones those of paused
   * ones.
   */
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

/** Waits until all continuations that can run have run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const isBefore = (a: Event, b: Event): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order);

/** Priority queue as a binary heap. */
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
