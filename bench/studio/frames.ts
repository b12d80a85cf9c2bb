/**
 * Processor time of a page's tasks. On a loaded machine, frame times also include waiting for a
 * processor.
 */
import type { Look } from '../../apps/studio/test/look.ts';

type Page = Look['page'];

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Longest task of the page's main thread while `act` runs, in ms of processor time. */
export async function longestTask(page: Page, act: () => Promise<unknown>): Promise<number> {
  await page.tracing.start({ categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  await act();
  const text = new TextDecoder().decode(await page.tracing.stop());
  const { traceEvents } = JSON.parse(text) as { readonly traceEvents: readonly TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const isMain = ({ name, args }: TraceEvent): boolean =>
    name === 'thread_name' && args?.name === 'CrRendererMain';
  const main = new Set(traceEvents.filter(isMain).map(threadOf));
  const tasks = traceEvents.filter(
    (each) => each.name.endsWith('RunTask') && main.has(threadOf(each)),
  );
  if (tasks.length === 0) throw new Error('The trace has no tasks of the page.');
  return tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur), 0) / 1000;
}
