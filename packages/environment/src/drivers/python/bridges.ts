/**
 * The processes that host the episodes of an environment. Each is started at its first use, and
 * restarted after it has ended.
 */
import { InvariantError } from '@trinity-rft/core';
import { startBridge, type Bridge, type BridgeOptions } from './bridge.js';

export interface Bridges {
  /**
   * Returns the least busy process, and starts it if necessary.
   * @throws EnvironmentError if the process cannot be started
   */
  some(): Promise<Bridge>;
  close(): void;
}

export interface BridgesOptions {
  readonly program: BridgeOptions;
  readonly processes: number;
  /** Parameters of `make`, the first call to each process. */
  readonly params: object;
  readonly startMs: number;
}

interface Place {
  bridge?: Bridge;
  made?: Promise<Bridge>;
  episodes: number;
}

export function createBridges({ program, processes, params, startMs }: BridgesOptions): Bridges {
  const places: readonly Place[] = Array.from({ length: processes }, () => ({ episodes: 0 }));

  function start(place: Place): Promise<Bridge> {
    const bridge = startBridge(program);
    place.bridge = bridge;
    place.made = bridge.call('make', params, startMs).then(() => bridge);
    // If its first call fails, the process is ended immediately, so that no episode waits for it.
    place.made.catch(() => bridge.close());
    return place.made;
  }

  const loadOf = ({ bridge }: Place): number =>
    bridge === undefined || bridge.failure() !== undefined ? 0 : bridge.load;

  return {
    some: async () => {
      const [place] = places.toSorted((a, b) => loadOf(a) - loadOf(b) || a.episodes - b.episodes);
      if (place === undefined) throw new InvariantError('There is no place for a process.');
      const { bridge, made } = place;
      place.episodes++;
      return made === undefined || bridge?.failure() !== undefined ? start(place) : made;
    },
    close: () => {
      for (const { bridge } of places) bridge?.close();
    },
  };
}
