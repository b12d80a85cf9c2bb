/**
 * Times the steps of a job. The first step is timed separately, because it also creates what later
 * steps reuse.
 */
import type { Metrics } from '../../../packages/core/src/index.ts';
import type { Figures } from '../row.ts';

const [leastSteps, leastSeconds] = [2, 3];

/** Repeats a step until its time is precise, and returns the median with the parts of that step. */
export async function timeSteps(step: () => Promise<Metrics>): Promise<Figures> {
  const done: { seconds: number; cpuSeconds: number; parts: Metrics }[] = [];
  const started = performance.now();
  while (done.length < leastSteps || performance.now() - started < leastSeconds * 1000) {
    const [begun, cpu] = [performance.now(), process.cpuUsage()];
    const parts = await step();
    const { user, system } = process.cpuUsage(cpu);
    const seconds = (performance.now() - begun) / 1000;
    done.push({ seconds, cpuSeconds: (user + system) / 1e6, parts });
  }
  const [first, ...later] = done;
  const median = later.toSorted((a, b) => a.seconds - b.seconds)[later.length >> 1];
  if (!first || !median) throw new RangeError('No step was made.');
  return { ...median, parts: { ...median.parts, 'first step': first.seconds } };
}

/** Seconds of the parts of a train step, by their metric names. */
export const partsOf = (metrics: Metrics): Metrics =>
  Object.fromEntries(
    ['forward', 'backward', 'optimizer'].flatMap((name) => {
      const seconds = metrics[`time/${name}`];
      return seconds === undefined ? [] : [[name, seconds]];
    }),
  );
