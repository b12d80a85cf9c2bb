/** Where every process of a run is: what `trinity status` shows, and a page may show later. */
import type { MemberView, RunView } from '@trinity-rft/core/store';
import type { RunEnd } from '@trinity-rft/launcher/files';
import { processState, type ProcessState } from './process-state.js';

export interface MemberStatus extends MemberView {
  /**
   * `silent`: it has not said anything for longer than processes do, or its process is stopped. Its tasks are given to others
   * once the lease time is over.
   */
  readonly health: 'working' | 'waiting' | 'silent' | 'left';
  /** Process of the operating system, if the process is or was on this machine. */
  readonly process: ProcessState | undefined;
  /** Tasks that it works on, `batch/task`. */
  readonly tasks: readonly string[];
}

export interface RunStatus {
  readonly members: readonly MemberStatus[];
  readonly trainStep: number;
  /** Explore steps whose tasks are known. */
  readonly plannedUpTo: number;
  /** Train steps between the oldest version that is in use or waits to be trained on, and the newest. */
  readonly staleness: number | undefined;
  /** Undefined: one process makes the run, and there is nothing to share. */
  readonly shared: SharedStatus | undefined;
  readonly end: RunView['end'];
  /** How the process that trained last ended. @default one trains, or the last one was killed */
  readonly lastEnd?: RunEnd;
}

type SharedStatus = Pick<
  RunView,
  'tasks' | 'lastMinute' | 'lateResults' | 'experiences' | 'awaitedRuns' | 'sizeBytes' | 'published'
>;

/** Processes beat every second. */
const silentMs = 3000;

/** @param host name of this machine */
export function statusOf(view: RunView, host: string): RunStatus {
  const { tasks, lastMinute, lateResults, experiences, awaitedRuns, sizeBytes, published } = view;
  return {
    members: membersOf(view, host),
    trainStep: view.trainStep,
    plannedUpTo: view.plannedUpTo,
    staleness: stalenessOf(view),
    shared: { tasks, lastMinute, lateResults, experiences, awaitedRuns, sizeBytes, published },
    end: view.end,
  };
}

export function membersOf(
  { members, leases }: Pick<RunView, 'members' | 'leases'>,
  host: string,
): readonly MemberStatus[] {
  return members.map((member) => {
    const process = member.host === host && !member.hasLeft ? processState(member.pid) : undefined;
    return {
      ...member,
      health: healthOf(member, process),
      process,
      tasks: leases
        .filter(({ explorer }) => explorer === member.name)
        .map(({ batch, task }) => `${batch}/${task}`),
    };
  });
}

function healthOf(
  { hasLeft, isAlive, silentForMs, waits }: MemberView,
  process: ProcessState | undefined,
): MemberStatus['health'] {
  if (hasLeft) return 'left';
  const cannotSpeak = process === 'stopped' || process === 'gone';
  if (cannotSpeak || !isAlive || silentForMs > silentMs) return 'silent';
  return waits.length > 0 ? 'waiting' : 'working';
}

function stalenessOf({ members, trainStep, experiences }: RunView): number | undefined {
  const inUse = members
    .filter(({ role, isAlive, version }) => role === 'explorer' && isAlive && version >= 0)
    .map(({ version }) => version);
  const { oldestVersion } = experiences;
  const versions = [...inUse, ...(oldestVersion === undefined ? [] : [oldestVersion])];
  return versions.length === 0 ? undefined : Math.max(0, trainStep - Math.min(...versions));
}
