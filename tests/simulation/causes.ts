/** Whenever nobody gets on, `trinity why` names a cause soon. */
import { causesOf } from '../../packages/inspect/src/status/causes.ts';
import { statusOf } from '../../packages/inspect/src/status/run-status.ts';
import type { RunView } from '../../packages/core/src/run-store.ts';
import type { Kernel } from './kernel.ts';
import type { Committed, StoreVerb } from './network.ts';

export interface CauseWatch {
  observe(committed: Committed): void;
}

export interface CauseWatchOptions {
  readonly kernel: Kernel;
  readonly view: () => Promise<RunView | undefined>;
  readonly report: (violation: string) => void;
}

/** Five seconds, and those in which a process that is at work finds out that answers were lost. */
const patienceMs = 8000;
const lookEveryMs = 1000;

export function watchCauses({ kernel, view, report }: CauseWatchOptions): CauseWatch {
  /** Since then nothing has happened, and no cause was named. */
  let since = 0;
  const look = async (): Promise<void> => {
    const ms = kernel.now() - since;
    // Most of the time something happens.
    if (ms < 2 * lookEveryMs) return;
    const seen = await view();
    const unnamed = seen && unnamedIn(seen);
    if (unnamed === undefined) since = kernel.now();
    else if (ms >= patienceMs)
      report(`nothing happened for ${Math.round(ms / 1000)} s, and ${unnamed}`);
  };
  const next = (): void => {
    const event = { what: 'somebody asks why', ms: lookEveryMs, owner: undefined };
    kernel.schedule(event, () => {
      void look();
      next();
    });
  };
  next();
  return {
    observe: ({ verb, result }) => {
      if (isMove(verb, result)) since = kernel.now();
    },
  };
}

const moves: ReadonlySet<StoreVerb> = new Set([
  'join',
  'leave',
  'plan',
  'leaseTasks',
  'storeResult',
  'releaseTask',
  'recordTrainStep',
  'putWeightFile',
  'publishWeights',
  'reportDelivery',
  'finishRun',
]);

/** Others only look, or are repeated while their caller waits. */
const isMove = (verb: StoreVerb, result: unknown): boolean =>
  moves.has(verb) && !(Array.isArray(result) && result.length === 0);

/** What is missing in the causes. An explorer that has a task may be waiting for its agent. */
function unnamedIn(view: RunView): string | undefined {
  if (view.end) return undefined;
  const { chains } = causesOf(statusOf(view, ''));
  const ends = chains.flatMap(({ links }) => links.slice(-1));
  const isNamed = ends.some(
    ({ state, member }) =>
      state === 'silent' || state === 'missing' || (state === 'works' && member?.tasks.length),
  );
  if (isNamed) return undefined;
  const said = ends.map(({ member, role, state }) => `${member?.name ?? role} ${state}`);
  return `the causes are: ${said.join(', ') || 'none'}`;
}
