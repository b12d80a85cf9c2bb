import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { TimeShare, type Party } from './time-share.js';

/** Parties whose runs take a fixed time on a simulated clock; `log` lists the parties in the order of their runs. */
function simulation(): {
  log: Party[];
  run: (party: Party, times: number, milliseconds: number) => Promise<void>;
  share: TimeShare;
} {
  let clock = 0;
  const share = new TimeShare(() => clock);
  const log: Party[] = [];
  const run = async (party: Party, times: number, milliseconds: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      await share.run(party, async () => {
        await nextTurn();
        clock += milliseconds;
        log.push(party);
      });
    }
  };
  return { log, run, share };
}

describe('share', () => {
  it('give both parties the same time, however long their runs are', async () => {
    const { log, run } = simulation();
    await Promise.all([run('train', 5, 100), run('sample', 200, 2)]);
    const until = log.lastIndexOf('train');
    const sampled = log.slice(0, until).filter((party) => party === 'sample').length;
    expect(sampled).toBeGreaterThanOrEqual(199);
    expect(log.slice(0, 60).filter((party) => party === 'train')).toHaveLength(2);
  });

  it('charge work that a run has only queued to the party that queued it', async () => {
    let [clock, queued] = [0, 0];
    const settled = async (): Promise<void> => {
      await nextTurn();
      clock += queued;
      queued = 0;
    };
    const share = new TimeShare(() => clock, settled);
    const log: Party[] = [];
    const run = async (party: Party, times: number, work: () => Promise<void>): Promise<void> => {
      for (let i = 0; i < times; i++)
        await share.run(party, async () => {
          log.push(party);
          await work();
        });
    };
    const queue = async (): Promise<void> => {
      await nextTurn();
      queued += 100;
    };
    const sample = async (): Promise<void> => {
      queued += 2;
      await settled();
    };
    await Promise.all([run('train', 5, queue), run('sample', 200, sample)]);
    const sampled = log.slice(0, log.lastIndexOf('train')).filter((party) => party === 'sample');
    expect(sampled.length).toBeGreaterThanOrEqual(199);
  });

  it('leave everything to one party while the other has no work, and grant no credit for it', async () => {
    const { log, run } = simulation();
    await run('sample', 100, 5);
    await Promise.all([run('train', 4, 10), run('sample', 40, 1)]);
    const contested = log.slice(100);
    expect(contested.slice(0, 24).filter((party) => party === 'train').length).toBeLessThanOrEqual(
      3,
    );
  });

  it('never run two at once, and continue after one that fails', async () => {
    const { share } = simulation();
    let running = 0;
    const work = async (): Promise<void> => {
      expect(++running).toBe(1);
      await nextTurn();
      running--;
      throw new RangeError('no');
    };
    const outcomes = await Promise.allSettled([
      share.run('train', work),
      share.run('sample', work),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(share.run('train', () => Promise.resolve(1))).resolves.toBe(1);
  });
});
