/** Injects every fault at every message of an episode, which must then end unchanged or fail. */
import { isDeepStrictEqual } from 'node:util';
import { EnvironmentError, silentLogger, systemClock } from '@trinity-rft/core';
import pLimit from 'p-limit';
import { describe, expect, it } from 'vitest';
import { beginEpisode } from '../../src/play/guarded-episode.js';
import { drivers, type DriverOptions } from './drivers.js';
import { faultKinds, type FaultKind, type Injector } from './faults.js';
import { episodeLength } from './letters.js';

const { signal } = new AbortController();
const row = { seed: 5 };
const policy = ['b', 'q', 'f'];

/** Observations and rewards of an episode, from the start of the environment to its end. */
async function play(driver: string, options: DriverOptions): Promise<readonly unknown[]> {
  const open = drivers[driver];
  if (open === undefined) throw new RangeError(driver);
  const { definition, close } = await open(options);
  const context = { logger: silentLogger, signal };
  try {
    const environment = await definition.open({}, context);
    try {
      const episode = await beginEpisode(
        environment,
        { row, seed: 1 },
        {
          name: driver,
          timeoutMs: 2 * options.deadlineMs,
          clock: systemClock,
          logger: silentLogger,
          signal,
        },
      );
      try {
        const seen: unknown[] = [episode.observation];
        for (const text of policy) seen.push(await episode.step({ type: 'text', text }));
        return seen;
      } finally {
        await episode.close();
      }
    } finally {
      await environment.close();
    }
  } finally {
    await close();
  }
}

/** Injects the fault at that message only, if it is possible there. */
function at(position: number, kind: FaultKind): { inject: Injector; injected: () => boolean } {
  let [count, isInjected] = [0, false];
  const inject: Injector = (possible) => {
    if (count++ !== position || !possible.includes(kind)) return undefined;
    isInjected = true;
    return kind;
  };
  return { inject, injected: () => isInjected };
}

/** Faults that only the deadline detects; tests use a short deadline for them. */
const silent: ReadonlySet<FaultKind> = new Set(['hang', 'late', 'corrupt', 'truncate']);
const patient = { delayMs: 1, lateMs: 1, deadlineMs: 60_000, startMs: 60_000 };
const hasty = { delayMs: 1, lateMs: 600, deadlineMs: 300, startMs: 300 };

interface Outcome {
  readonly kind: FaultKind;
  readonly position: number;
  /** Outcome of the episode: `same`, `broken`, or the unexpected result. */
  readonly how: unknown;
  readonly injected: boolean;
}

describe.each(Object.keys(drivers))('%s', (driver) => {
  it('never gives another reward', { timeout: 120_000 }, async () => {
    let messages = 0;
    const counting: Injector = () => {
      messages++;
      return undefined;
    };
    const untouched = await play(driver, { ...patient, inject: counting });
    expect(untouched).toHaveLength(1 + episodeLength);
    const atOnce = pLimit(16);
    const meet = async (kind: FaultKind, position: number): Promise<Outcome> => {
      const { inject, injected } = at(position, kind);
      const options = silent.has(kind) ? hasty : patient;
      const ended = await play(driver, { ...options, inject }).catch((error: unknown) => error);
      const isSame = isDeepStrictEqual(ended, untouched);
      const isBroken = ended instanceof EnvironmentError;
      const how = isSame ? 'same' : isBroken ? 'broken' : ended;
      return { kind, position, how, injected: injected() };
    };
    const outcomes = await Promise.all(
      faultKinds.flatMap((kind) =>
        Array.from({ length: messages }, (_, at) => atOnce(() => meet(kind, at))),
      ),
    );
    expect(outcomes.filter(({ how }) => how !== 'same' && how !== 'broken')).toEqual([]);
    const endsOf = (fault: FaultKind): ReadonlySet<unknown> =>
      new Set(
        outcomes.flatMap(({ kind, injected, how }) => (injected && kind === fault ? how : [])),
      );
    expect(endsOf('kill')).toContain('broken');
    expect([...endsOf('delay')]).toEqual(['same']);
  });
});
