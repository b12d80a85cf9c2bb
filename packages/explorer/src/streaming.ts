/** Explores without meeting points: steps begin as soon as they may, whatever is in flight. */
import type { ExploreSync } from './explorer-options.js';
import { assertNotStopped } from './runs/run-attempt.js';

export interface StreamingOptions<Step> {
  readonly streaming: NonNullable<ExploreSync['streaming']>;
  /** Steps in flight. */
  readonly most: number;
  /** Undefined when the tasks have ended. */
  readonly start: (step: number) => Promise<Step | undefined>;
  /** Settles when the runs of a step have ended. */
  readonly ended: (step: Step) => Promise<unknown>;
  /** Called one step at a time, in order. */
  readonly finish: (step: Step) => Promise<void>;
  /** Called around waits with nothing in flight. */
  readonly idle: <T>(wait: () => Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
}

/** Explores the steps after `lastStep` until the tasks end; resolves with the last one. */
export async function exploreStreaming<Step>(
  options: StreamingOptions<Step>,
  lastStep: number,
): Promise<number> {
  const { streaming, most, start, finish, idle, signal } = options;
  const inFlight: Step[] = [];
  let step = lastStep;
  let noMore = false;
  for (;;) {
    assertNotStopped(signal);
    while (!noMore && inFlight.length < most && streaming.mayBegin(step + 1)) {
      const started = await start(step + 1);
      if (!started) noMore = true;
      else inFlight.push(started);
      if (started) step++;
    }
    const oldest = inFlight[0];
    if (oldest === undefined && noMore) return step;
    if (oldest === undefined) {
      await idle(() => streaming.whenItMay(step + 1, signal));
      continue;
    }
    const hasRoom = !noMore && inFlight.length < most;
    if (hasRoom && (await mayBeginFirst(options, step + 1, oldest))) continue;
    inFlight.shift();
    await finish(oldest);
  }
}

/** True when step `next` may begin before the runs of `oldest` have ended. */
async function mayBeginFirst<Step>(
  { streaming, ended, signal }: StreamingOptions<Step>,
  next: number,
  oldest: Step,
): Promise<boolean> {
  const raced = new AbortController();
  const begins = streaming.whenItMay(next, AbortSignal.any([signal, raced.signal]));
  begins.catch(() => undefined);
  try {
    return await Promise.race([begins.then(() => true), ended(oldest).then(() => false)]);
  } finally {
    raced.abort();
  }
}
