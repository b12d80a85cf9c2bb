/** State of every process of a run: what `trinity status` shows. */
import type { MemberView, RunView } from '@trinity-rft/core/store';
import type { RunEnd } from '@trinity-rft/launcher/files';
import { processState, type ProcessState } from './process-state.js';

export interface MemberStatus extends MemberView {
  /**
   * Health of the worker. `silent`: its heartbeats are overdue, or its process is stopped or gone.
   * When its lease expires, its tasks are assigned to other workers.
   */
  readonly health: 'working' | 'waiting' | 'silent' | 'left';
  /**
   * State of the worker's process; undefined if the worker has left, or runs on another machine.
   */
  readonly process: ProcessState | undefined;
  /** Tasks in progress, as `batch/task`. */
  readonly tasks: readonly string[];
}

export interface RunStatus {
  readonly members: readonly MemberStatus[];
  readonly trainStep: number;
  /** Last explore step for which tasks have been planned. */
  readonly plannedUpTo: number;
  /**
   * Number of train steps since the oldest policy version in use. A version is in use if an
   * explorer samples with it, or if untrained experiences were sampled with it. Undefined if no
   * version is in use.
   */
  readonly staleness: number | undefined;
  /** Contents of the store that the processes share; undefined for a run in a single process. */
  readonly shared: SharedStatus | undefined;
  readonly end: RunView['end'];
  /**
   * How the last training process ended. Absent while a training process is running, and if the
   * last one was killed.
   */
  readonly lastEnd?: RunEnd;
}

type SharedStatus = Pick<
  RunView,
  'tasks' | 'lastMinute' | 'lateResults' | 'experiences' | 'awaitedRuns' | 'sizeBytes' | 'published'
>;

/**
 * Time in ms without a heartbeat after which a process is `silent`; heartbeats come every second.
 */
const silentMs = 3000;

/**
 * Derives the status of a run from the contents of its store.
 * @param host name of this machine
 */
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
    const process = member.hasLeft ? undefined : processState(member, host);
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
