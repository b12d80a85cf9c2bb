/** Reads the status of a run of a single process from its `status.json`. */
import { hostname } from 'node:os';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import type { MemberRole, MemberView } from '@trinity-rft/core/store';
import { describeEnd, readEnd, readFailure, readProcessBeat } from '@trinity-rft/launcher/files';
import { isThere, runningProcess } from '../verify/folder.js';
import { stageOrLatest } from '../verify/stages.js';
import { processState } from './process-state.js';
import { membersOf, type RunStatus } from './run-status.js';

/**
 * Returns the status of a run in a single process.
 * @throws ConfigError when no process works on the run, or one that writes no `status.json`
 */
export async function readProcessFile(jobDirectory: string): Promise<RunStatus> {
  const beat = await readProcessBeat(jobDirectory);
  if (beat !== undefined && processState(beat) !== 'gone') return beatStatus(beat);
  const running = await runningProcess(jobDirectory);
  throw running === undefined
    ? await notRunning(jobDirectory, beat)
    : await noStatus(jobDirectory, running);
}

async function notRunning(
  jobDirectory: string,
  beat: ProcessBeat | undefined,
): Promise<ConfigError> {
  const traces = ['run.lock', 'settings.json', 'end.json', 'log'];
  const found = await Promise.all(traces.map((name) => isThere(path.join(jobDirectory, name))));
  if (beat === undefined && !found.includes(true))
    return new ConfigError(
      `No run was started in ${jobDirectory}. Start one with "trinity run", or name the folder of a run.`,
      { code: 'RUN_NOT_STARTED' },
    );
  const ended = await readEnd(jobDirectory);
  const failure = await readFailure(jobDirectory);
  const cause = failure === undefined ? '.' : `: ${failure}`;
  const { mode } = await stageOrLatest(jobDirectory);
  // A training run removes the recorded end when it starts, and `status.json`, if it writes one,
  // when it ends. A server without training and an evaluation record no end.
  const [hasLock] = found;
  const isKilled =
    ended === undefined &&
    (beat !== undefined || (hasLock && ['both', 'train', 'serve'].includes(String(mode))));
  const lastOne = (): string => {
    if (ended) return ` The last one ${describeEnd(ended)}${cause}`;
    if (beat) {
      const { pid, progress, at } = beat;
      const killed = describeEnd({ how: 'killed', trainStep: progress.trainStep, at });
      return ` The last one, process ${pid}, ${killed}.`;
    }
    return isKilled ? ' The last one recorded no end, so it was killed or crashed.' : '';
  };
  const verb = isKilled || (ended && ended.how !== 'finished') ? 'Continue' : 'Start';
  return new ConfigError(
    `No process makes the run in ${jobDirectory}. ${verb} it with "trinity run"; "trinity log" shows what happened in it.${lastOne()}`,
    { code: 'RUN_NOT_STARTED' },
  );
}

/**
 * Returns an error that names a process without `status.json`. The recorded mode is that of the
 * training run, which a server without training or an evaluation may have joined.
 */
async function noStatus(
  jobDirectory: string,
  { pid, role }: NonNullable<Awaited<ReturnType<typeof runningProcess>>>,
): Promise<ConfigError> {
  const { mode } = await stageOrLatest(jobDirectory);
  // A training run removes the recorded end when it starts; an evaluation keeps it.
  const ended = await readEnd(jobDirectory);
  const log = '"trinity log" shows its steps';
  const only = 'Only runs that explore and train have a status';
  const processThat = (text: string): ConfigError =>
    new ConfigError(`Process ${pid} ${text}`, { code: 'RUN_WITHOUT_STATUS' });
  if (role === 'serve' || (mode === 'serve' && ended === undefined))
    return processThat(
      `serves the run in ${jobDirectory}. ${only}; ${log}, and GET /metrics of the server shows its requests.`,
    );
  if (ended !== undefined || mode === 'bench') {
    const last = ended === undefined ? '' : ` The last training run ${describeEnd(ended)}.`;
    return processThat(
      `evaluates the run in ${jobDirectory}, or is about to end. ${only}; ${log}.${last}`,
    );
  }
  if (mode === 'train')
    return processThat(`trains the run in ${jobDirectory} on recorded data. ${only}; ${log}.`);
  return processThat(
    `is starting or ending the run in ${jobDirectory} and has no status at the moment. Try again in some seconds; ${log}.`,
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
    isAlive: true,
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
