/** Reads the status of a run of a single process from its `status.json`. */
import { hostname } from 'node:os';
import { ConfigError } from '@trinity-rft/core';
import type { MemberRole, MemberView } from '@trinity-rft/core/store';
import { describeEnd, readEnd, readFailure, readProcessBeat } from '@trinity-rft/launcher/files';
import { processState } from './process-state.js';
import { membersOf, type RunStatus } from './run-status.js';

/**
 * Returns the status of a run in a single process.
 * @throws ConfigError when no process works on the run
 */
export async function readProcessFile(jobDirectory: string): Promise<RunStatus> {
  const beat = await readProcessBeat(jobDirectory);
  if (beat === undefined) throw await notStarted(jobDirectory);
  return beatStatus(beat);
}

async function notStarted(jobDirectory: string): Promise<ConfigError> {
  const ended = await readEnd(jobDirectory);
  const failure = await readFailure(jobDirectory);
  const cause = failure === undefined ? '.' : `: ${failure}`;
  const end = ended === undefined ? '' : ` The last one ${describeEnd(ended)}${cause}`;
  return new ConfigError(
    `No process makes the run in ${jobDirectory}. Start it with "trinity run"; "trinity log" shows what happened in it.${end}`,
    { code: 'RUN_NOT_STARTED' },
  );
}

type ProcessBeat = NonNullable<Awaited<ReturnType<typeof readProcessBeat>>>;

/**
 * Converts the heartbeat of the process to a run status, with the explorer and the trainer as two
 * workers.
 */
function beatStatus({ pid, host, at, waits, progress }: ProcessBeat): RunStatus {
  const silentForMs = Math.max(0, Date.now() - at);
  const { exploreStep, trainStep, version } = progress;
  const common = { host, pid, epoch: 1, hasLeft: false, silentForMs, delivery: undefined };
  const member = (role: MemberRole, used: number): MemberView => ({
    ...common,
    role,
    name: role,
    version: used,
    waits: waits[role],
    facts: {},
    isAlive: processState({ pid, host }) !== 'gone',
  });
  const members = [member('explorer', version), member('trainer', trainStep)];
  return {
    members: membersOf({ members, leases: [] }, hostname()),
    trainStep,
    plannedUpTo: exploreStep,
    staleness: Math.max(0, trainStep - version),
    shared: undefined,
    end: undefined,
  };
}
