/** Manages the membership of workers in a training run: joins, heartbeats and leaving. */
import { randomUUID } from 'node:crypto';
import { BufferError } from '@trinity-rft/core';
import type {
  Agreement,
  MemberInfo,
  Membership,
  MemberState,
  RunStore,
} from '@trinity-rft/core/store';
import { taskState, type MemberRow } from '../database/tables.js';
import { assertConsistent } from './consistent.js';
import { fencedError, isAlive, type Connection, type RunContext } from './context.js';
import { confirm, differing, settingsOfRun } from './identity.js';

export function members(context: RunContext): Pick<RunStore, 'join' | 'heartbeat' | 'leave'> {
  const { database, run } = context;
  return {
    join: (info) => {
      const token = randomUUID();
      return database.write('let a member join', (db) => join(context, db, { info, token }));
    },
    heartbeat: async (member, state) => {
      await database.write(
        'record a heartbeat',
        async (db) => {
          const before = await find(context, db, member);
          if (before?.epoch !== member.epoch) throw fencedError(member);
          await db
            .updateTable('member')
            .set({ beat_at: database.now(), state: JSON.stringify(state) })
            .where('run', '=', run)
            .where('epoch', '=', member.epoch)
            .execute();
          return asksFor(before) !== state.asksForNewerThan;
        },
        // A heartbeat wakes other processes only if the member asks for newer weights. All other
        // parts of the state are only displayed.
        { isDurable: false, notifies: (asksAnew) => asksAnew },
      );
    },
    leave: (member) =>
      database.write('let a member leave', async (db) => {
        const before = await find(context, db, member);
        // If the epochs differ, another process has replaced this member, and there is nothing to
        // end.
        if (before?.epoch === member.epoch) await end(context, db, before);
      }),
  };
}

const asksFor = ({ state }: MemberRow): number | undefined =>
  (JSON.parse(state) as MemberState).asksForNewerThan;

interface Join {
  readonly info: MemberInfo;
  readonly token: string;
}

async function join(
  context: RunContext,
  db: Connection,
  { info, token }: Join,
): Promise<Membership> {
  const { run } = context;
  // The lock on the row of the training run serializes joins.
  const { epoch } = await db
    .updateTable('run')
    .set((eb) => ({ epoch: eb('epoch', '+', 1) }))
    .where('id', '=', run)
    .returning('epoch')
    .executeTakeFirstOrThrow();
  await assertConsistent(context, db);
  const rivals = await rivalsOf(context, db, info);
  for (const rival of rivals) {
    if (rival.token === token) return seated(info, rival);
    if (rival.alive) throw aliveError(info, rival);
    if (rival.epoch > 0) await end(context, db, rival);
  }
  await assertAgrees(context, db, info);
  await confirm(context, db, info);
  const { agreement } = info;
  const row = {
    agreement: agreement === undefined ? null : JSON.stringify(agreement),
    role: info.role,
    host: info.host,
    pid: info.pid,
    epoch,
    token,
    beat_at: context.database.now(),
    state: JSON.stringify({ waits: [], version: 0, facts: {} }),
    delivery: null,
    lease_calls: 0,
  };
  await db
    .insertInto('member')
    .values({ run, name: info.name, ...row })
    .onConflict((conflict) => conflict.columns(['run', 'name']).doUpdateSet(row))
    .execute();
  return membership(info, epoch);
}

const membership = ({ role, name, host, pid }: MemberInfo, epoch: number): Membership => ({
  role,
  name,
  host,
  pid,
  epoch,
});

/**
 * Compares the worker's settings with those of the live worker that joined first. Without live
 * workers, compares them with those of the training run.
 * @throws BufferError naming a setting that differs
 */
async function assertAgrees(context: RunContext, db: Connection, info: MemberInfo): Promise<void> {
  const { agreement } = info;
  if (agreement === undefined) return;
  const first = await db
    .selectFrom('member')
    .selectAll()
    .where('run', '=', context.run)
    .where('agreement', 'is not', null)
    .where(isAlive(context))
    .orderBy('epoch')
    .limit(1)
    .executeTakeFirst();
  if (!first?.agreement) return assertAgreesWithRun(context, db, info, agreement);
  const other = JSON.parse(first.agreement) as Agreement;
  const [key] = differing(other, agreement);
  const whose = `that of the ${first.role} ${first.name} (process ${first.pid} on ${first.host}), which takes part already,`;
  if (key !== undefined)
    throw differsError(info, { key, own: agreement[key], other: other[key], whose, ...first });
}

/**
 * Compares a worker's settings with those of the training run. Not called while another worker is
 * alive. For a trainer, settings of an earlier trainer are ignored, because a trainer compares its
 * settings with those in its own folder.
 */
async function assertAgreesWithRun(
  context: RunContext,
  db: Connection,
  info: MemberInfo,
  agreement: Agreement,
): Promise<void> {
  const run = context.claim && (await settingsOfRun(context, db));
  if (!run || (info.role === 'trainer' && run.role === 'trainer')) return;
  const { settings, role } = run;
  const [key] = differing(settings, agreement);
  const whose = `that of the run, which its ${role} has set,`;
  // When a trainer joins, its changed configuration becomes that of the training run. The error
  // names the trainer, so that the caller waits for it.
  const name = role === 'trainer' ? 'trainer' : undefined;
  if (key !== undefined)
    throw differsError(info, { key, own: agreement[key], other: settings[key], whose, name });
}

interface Difference {
  readonly key: string;
  readonly own: string | undefined;
  readonly other: string | undefined;
  readonly whose: string;
  /** Name of the worker that uses the other value, or whose configuration determines it. */
  readonly name: string | undefined;
}

function differsError(
  info: MemberInfo,
  { key, own = 'not set', other = 'not set', whose, name }: Difference,
): BufferError {
  return new BufferError(
    `The ${info.role} ${info.name} cannot join the run: its ${key} is ${own}, and ${whose} is ${other}. Give all processes of a run the same configuration, or this one a name of its own (name).`,
    { code: 'MEMBER_DIFFERS', details: { key, own, other, name } },
  );
}

/**
 * Converts the database row of a join to a membership.
 * @throws BufferError if this membership ended before the response to the join arrived
 */
function seated(info: MemberInfo, { epoch }: MemberRow): Membership {
  if (epoch > 0) return membership(info, epoch);
  throw fencedError({ ...info, epoch: -epoch });
}

type Rival = MemberRow & { readonly alive: boolean | number };

/**
 * Returns the workers that a join would replace: any worker of the same name, and if a trainer
 * joins, all trainers.
 */
const rivalsOf = (context: RunContext, db: Connection, info: MemberInfo): Promise<Rival[]> =>
  db
    .selectFrom('member')
    .selectAll()
    .select(isAlive(context).as('alive'))
    .where('run', '=', context.run)
    .where((eb) => {
      const sameName = eb('name', '=', info.name);
      return info.role === 'trainer' ? eb.or([sameName, eb('role', '=', 'trainer')]) : sameName;
    })
    .execute();

const find = (
  { run }: RunContext,
  db: Connection,
  { name }: Membership,
): Promise<MemberRow | undefined> =>
  db
    .selectFrom('member')
    .selectAll()
    .where('run', '=', run)
    .where('name', '=', name)
    .executeTakeFirst();

/**
 * Ends a membership. Later calls of the worker are refused, and tasks that it has leased become
 * open.
 */
async function end({ run }: RunContext, db: Connection, { epoch }: MemberRow): Promise<void> {
  await db
    .updateTable('member')
    .set({ epoch: -epoch })
    .where('run', '=', run)
    .where('epoch', '=', epoch)
    .execute();
  await db
    .updateTable('task')
    .set({ state: taskState.open, owner: null })
    .where('run', '=', run)
    .where('state', '=', taskState.leased)
    .where('owner', '=', epoch)
    .execute();
}

function aliveError(info: MemberInfo, rival: Rival): BufferError {
  const who = `the ${rival.role} ${rival.name} (process ${rival.pid} on ${rival.host})`;
  const fix =
    info.role === 'trainer' && rival.role === 'trainer'
      ? 'A run has one trainer: end that process, or start a run with another name.'
      : 'Give this one another name (explorer.name), or end that process.';
  return new BufferError(
    `The ${info.role} ${info.name} cannot join the run: ${who} takes part already. ${fix}`,
    { code: 'MEMBER_ALIVE', details: { name: rival.name, host: rival.host, pid: rival.pid } },
  );
}
