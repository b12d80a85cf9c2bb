/** Checks that `trinity why` names a cause soon after a run stalls. */
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

/**
 * Maximum time in ms without progress and without a named cause: five seconds, plus the time until a working process
 * notices lost answers.
 */
const patienceMs = 8000;
const lookEveryMs = 1000;

export function watchCauses({ kernel, view, report }: CauseWatchOptions): CauseWatch {
  /** Time of the last progress or named cause. */
  let since = 0;
  const look = async (): Promise<void> => {
    const ms = kernel.now() - since;
    // Skips the check while the run makes progress, which is the usual case.
    if (ms < 2 * lookEveryMs) return;
    const seen = await view();
    const unnamed = seen && unnamedIn(seen);
    if (unnamed === undefined) since = kernel.now();
    else if (ms >= patienceMs)
      report(`nothing happened for ${Math.round(ms / 1000)} s, and ${unnamed}`);
  };
  const next = (): void => {
    const event = {
      what: 'check that a stalled run names its cause',
      ms: lookEveryMs,
      owner: undefined,
    };
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

/** True for calls that change the run; other calls only read, or are repeated while their caller waits. */
const isMove = (verb: StoreVerb, result: unknown): boolean =>
  moves.has(verb) && !(Array.isArray(result) && result.length === 0);

/**
 * Describes causes that do not explain a stalled run; undefined if they do. A silent or missing
 * process is an explanation, and so is a process with a task, because its agent may take long.
 */
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
