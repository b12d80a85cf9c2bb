/** Delay from the trainer's publishing of weights to an explorer's sampling with them. */
import { openRunStore } from '../../packages/buffer/src/run-store/index.ts';

/**
 * Watches a run until `signal` aborts. @returns the delay of each delivery to an explorer, in
 * milliseconds
 */
export async function watchDeliveries(
  url: string,
  run: string,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const store = await openRunStore({ url, run });
  const published = new Map<number, number>();
  const used = new Map<string, number>();
  const delays: number[] = [];
  while (!signal.aborted) {
    await store.waitForChange(1000, signal).catch(() => undefined);
    const view = await store.view();
    const now = performance.now();
    const newest = view.published?.version;
    if (newest !== undefined && !published.has(newest)) published.set(newest, now);
    for (const { name, delivery } of view.members) {
      if (!delivery || used.get(name) === delivery.version) continue;
      used.set(name, delivery.version);
      const since = published.get(delivery.version);
      // The first weights do not count: they wait for an explorer to start.
      if (since !== undefined && delivery.version > 0) delays.push(now - since);
    }
  }
  await store.close();
  return delays;
}
