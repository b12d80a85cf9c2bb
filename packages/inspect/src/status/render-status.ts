/** Renders the status of a run and its wait chains as text. */
import { describeEnd } from '@trinity-rft/launcher/files';
import type { CauseLink, RunCauses } from './causes.js';
import type { MemberStatus, RunStatus } from './run-status.js';

/** Renders the processes of a run, its progress and the contents of its store for a terminal. */
export function renderStatus(status: RunStatus): string {
  const { members, shared, staleness } = status;
  const facts: Readonly<Record<string, string | undefined>> = {
    state: stateOf(status),
    trainer: status.lastEnd && describeEnd(status.lastEnd),
    'train step': String(status.trainStep),
    'explore step': String(status.plannedUpTo),
    staleness: staleness === undefined ? undefined : `${staleness} train steps`,
    ...(shared && sharedFacts(shared)),
  };
  const lines = Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `  ${name.padEnd(13)} ${value}`);
  return [...lines, '', ...members.flatMap(memberLines), ''].join('\n');
}

function sharedFacts(shared: NonNullable<RunStatus['shared']>): Record<string, string | undefined> {
  const { tasks, lastMinute, lateResults, experiences, awaitedRuns, sizeBytes, published } = shared;
  const dropped = Object.entries(experiences.discarded);
  return {
    tasks: `${tasks.open} open, ${tasks.leased} in progress, ${tasks.done} done`,
    experiences: [
      `${experiences.total} in all`,
      `${experiences.waiting} waiting`,
      `${experiences.trained} trained`,
      ...dropped.map(([reason, count]) => `${count} ${reason}`),
    ].join(', '),
    'last minute': `${lastMinute.tasks} tasks, ${lastMinute.trainSteps} train steps`,
    'late results': countOrNone(lateResults),
    'late rewards': countOrNone(awaitedRuns),
    weights: published && `version ${published.version} published`,
    store: `${(sizeBytes / 2 ** 20).toFixed(1)} MiB`,
  };
}

const countOrNone = (count: number): string | undefined =>
  count === 0 ? undefined : String(count);

function stateOf({ end, members }: RunStatus): string {
  if (end !== undefined) return `complete after train step ${end.trainStep}`;
  const there = members.filter(({ health }) => health !== 'left');
  // One process may be the explorer and the trainer.
  const { size } = new Set(there.map(({ host, pid }) => `${host} ${pid}`));
  if (size === 0) return 'no process takes part';
  return size === 1 ? '1 process takes part' : `${size} processes take part`;
}

function memberLines(member: MemberStatus): readonly string[] {
  const { role, name, host, pid, health, version, facts, waits, tasks, delivery } = member;
  const title = name === role ? role : `${role} ${name}`;
  const details = [
    ...(version < 0 ? [] : [`weights ${version}`]),
    ...Object.entries(facts).map(([key, value]) => `${words(key)} ${JSON.stringify(value)}`),
    ...(tasks.length === 0 ? [] : [`works on ${shorten(tasks)}`]),
  ];
  const problem = delivery?.problem;
  return [
    `  ${title} (process ${pid} on ${host}): ${health === 'silent' ? silence(member) : health}`,
    ...(details.length === 0 ? [] : [`    ${details.join(', ')}`]),
    ...waits.map(({ what, on, forMs }) => `    waits for ${what}${from(on)}, ${seconds(forMs)}`),
    ...(problem === undefined ? [] : [`    refuses weights ${delivery?.version}: ${problem}`]),
  ];
}

const from = (on: string | undefined): string => (on === undefined ? '' : ` (${on})`);
const words = (key: string): string =>
  key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
const seconds = (ms: number): string =>
  ms < 120_000 ? `for ${(ms / 1000).toFixed(1)} s` : `for ${Math.round(ms / 60_000)} min`;
const shorten = (tasks: readonly string[]): string =>
  tasks.length <= 4
    ? tasks.join(', ')
    : `${tasks.slice(0, 3).join(', ')} and ${tasks.length - 3} more`;

function silence({ silentForMs, process: state, isAlive }: MemberStatus): string {
  const why =
    state === 'gone'
      ? 'its process is gone'
      : state === 'stopped'
        ? 'its process is stopped (SIGSTOP); SIGCONT continues it'
        : state === 'running'
          ? 'its process runs, but sends no heartbeat'
          : 'its machine, its process or its connection to the store is down';
  const tasks = isAlive ? '' : '; other workers may take its tasks and its place';
  return `silent ${seconds(silentForMs)}: ${why}${tasks}`;
}

/** Renders the wait chains, each with its root cause. */
export function renderCauses({ chains, end }: RunCauses): string {
  if (end !== undefined && chains.length === 0)
    return `The run is complete: train step ${end.trainStep} was its last.\n`;
  if (chains.length === 0) return 'No process waits.\n';
  return chains.map(({ links }) => `${links.map(linkLine).join('\n')}\n`).join('\n');
}

function linkLine(link: CauseLink, depth: number): string {
  const indent = '  '.repeat(depth);
  const asked = link.asked;
  const lead = asked === undefined ? '' : `waits for ${asked.what}, ${seconds(asked.forMs)}: `;
  return `${indent}${lead}${describe(link)}`;
}

function describe({ member, role, state }: CauseLink): string {
  if (state === 'outside') return 'CAUSE: outside the run';
  if (state === 'missing' || member === undefined)
    return `CAUSE: there is no ${role}. Start one: trinity run FILE with mode: ${role === 'trainer' ? 'train' : 'explore'}`;
  const who = `${member.name === role ? role : `${role} ${member.name}`} (process ${member.pid} on ${member.host})`;
  const held =
    member.tasks.length === 0
      ? ''
      : `; it has ${member.tasks.length} ${member.tasks.length === 1 ? 'task' : 'tasks'}: ${shorten(member.tasks)}`;
  if (state === 'silent') return `CAUSE: ${who} is ${silence(member)}${held}`;
  if (state === 'circle') return `CAUSE: ${who}, which waits itself: they wait for one another`;
  if (state === 'works') return `${who} is at work${held}`;
  return who;
}
