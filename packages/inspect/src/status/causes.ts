/** Diagnoses a stalled run: follows the wait chain to its root cause. */
import type { Wait } from '@trinity-rft/core/store';
import type { MemberStatus, RunStatus } from './run-status.js';

/** One link of a wait chain: a worker, a role without workers, or a cause outside the run. */
export interface CauseLink {
  /** Status of the worker; undefined if the role has no worker, or the cause is outside the run. */
  readonly member: MemberStatus | undefined;
  readonly role: string;
  /** Reason why the previous link waits for this one; undefined for the first link. */
  readonly asked: Wait | undefined;
  readonly state: 'waits' | 'silent' | 'works' | 'missing' | 'outside' | 'circle';
}

interface WaitChain {
  /** Chain of links from the waiting worker to the root cause. */
  readonly links: readonly CauseLink[];
}

export interface RunCauses {
  readonly end: RunStatus['end'];
  /**
   * Wait chains. First come the `silent` processes that are not the root cause of another chain
   * (none after the end of the run), then one chain per waiting process, the longest wait first. If
   * the run has no process, there is one chain per missing role.
   */
  readonly chains: readonly WaitChain[];
}

/** Follows the waits of each process of a run to the root cause. */
export function causesOf(status: RunStatus): RunCauses {
  const there = status.members.filter(({ health }) => health !== 'left');
  const waiting = there
    .filter(({ health }) => health === 'waiting')
    .toSorted((a, b) => longest(b) - longest(a));
  const chains = waiting.map((member) => ({ links: follow(member, undefined, there, []) }));
  const blamed = new Set(chains.map(({ links }) => links.at(-1)?.member?.name));
  const isEnded = status.end !== undefined;
  // A process that was killed before the end delays nothing.
  const silent = there
    .filter(({ health, name }) => health === 'silent' && !blamed.has(name) && !isEnded)
    // A stopped process comes first: it may lock the database, which silences the others.
    .toSorted((a, b) => Number(a.process === 'running') - Number(b.process === 'running'))
    .map((member) => ({ links: follow(member, undefined, there, []) }));
  const missing =
    there.length > 0 || isEnded
      ? []
      : (['trainer', 'explorer'] as const).map((role) => ({ links: [missingLink(role)] }));
  return { end: status.end, chains: [...silent, ...chains, ...missing] };
}

const longest = ({ waits }: MemberStatus): number =>
  Math.max(0, ...waits.map(({ forMs }) => forMs));

const missingLink = (role: string, asked?: Wait): CauseLink => ({
  member: undefined,
  role,
  asked,
  state: 'missing',
});

function follow(
  member: MemberStatus,
  asked: Wait | undefined,
  members: readonly MemberStatus[],
  above: readonly string[],
): readonly CauseLink[] {
  const link = (state: CauseLink['state']): CauseLink => ({
    member,
    role: member.role,
    asked,
    state,
  });
  if (above.includes(member.name)) return [link('circle')];
  if (member.health === 'silent') return [link('silent')];
  const wait = member.waits.toSorted((a, b) => b.forMs - a.forMs)[0];
  if (wait === undefined) return [link('works')];
  const outside: CauseLink = { member: undefined, role: '', asked: wait, state: 'outside' };
  if (wait.on === undefined) return [link('waits'), outside];
  const next = candidates(wait.on, members).toSorted(byBlame)[0];
  if (next === undefined) return [link('waits'), missingLink(wait.on, wait)];
  return [link('waits'), ...follow(next, wait, members, [...above, member.name])];
}

const candidates = (on: string, members: readonly MemberStatus[]): readonly MemberStatus[] =>
  members.filter(({ name, role }) => name === on || role === on);

/**
 * Orders workers by how likely they are to be the cause. Workers that hold tasks come first. Within
 * both groups, the order is `silent`, working, waiting.
 */
function byBlame(a: MemberStatus, b: MemberStatus): number {
  const rank = ({ health, tasks }: MemberStatus): number =>
    (health === 'silent' ? 0 : health === 'working' ? 1 : 2) + (tasks.length > 0 ? 0 : 3);
  return rank(a) - rank(b) || longest(b) - longest(a);
}
