/**
 * Checks the identity of a training run in a shared store. The store and the training run's folder
 * must contain the same identity.
 */
import { ConfigError } from '@trinity-rft/core';
import type { Agreement, MemberInfo } from '@trinity-rft/core/store';
import { assertChecksum, textChecksum } from '../database/checksums.js';
import { isAlive, locked, type Connection, type RunContext } from './context.js';
import type { RunClaim } from './context.js';

interface Identity extends Pick<RunClaim, 'role' | 'id' | 'host' | 'folder' | 'place'> {
  readonly settings: Agreement;
}

interface Row {
  readonly name: string;
  readonly identity: string | null;
  readonly planned_step: number;
}

/**
 * Checks whether a claim is for the training run in the store. If the training run has no identity
 * yet, or has neither planned steps nor live workers, the claim's identity is stored. If steps are
 * planned, this applies only to a trainer's claim.
 * @throws ConfigError if the name belongs to another training run
 */
export async function admit(
  context: RunContext,
  db: Connection,
  claim: RunClaim,
): Promise<'admitted' | 'set aside'> {
  const row = await rowOf(context, db);
  const known = identityOf(row);
  const members = await liveMembers(context, db);
  // Nothing was planned and no member is alive, so a new training run may use the name.
  const isFree = row.planned_step === 0 && members.length === 0 && !claim.hasBegun;
  if (known === undefined || (isFree && known.id !== claim.id)) {
    const problem = known === undefined ? await stepsOfOtherRun(context, db, claim) : undefined;
    if (problem !== undefined) return setAsideOr(context, db, { claim, members, problem });
    // A training run that an earlier version created belongs to the folder of its trainer.
    if (claim.role === 'trainer' || row.planned_step === 0) await write(context, db, claim);
    return 'admitted';
  }
  const problem = mismatch(row.name, known, claim);
  return problem === undefined ? 'admitted' : setAsideOr(context, db, { claim, members, problem });
}

/**
 * Returns the settings that a new process of the training run must have even if no other process is
 * alive. Returns undefined if no step has been planned yet, or if the training run has no identity.
 */
export async function settingsOfRun(
  context: RunContext,
  db: Connection,
): Promise<Pick<Identity, 'role' | 'settings'> | undefined> {
  const row = await rowOf(context, db);
  return row.planned_step === 0 ? undefined : identityOf(row);
}

/**
 * Stores the identity of a worker's claim (its folder and settings). For an explorer, does so only
 * if no trainer has stored its identity and no step is planned.
 */
export async function confirm(
  context: RunContext,
  db: Connection,
  { role }: Pick<MemberInfo, 'role'>,
): Promise<void> {
  const { claim } = context;
  if (claim === undefined) return;
  const row = await rowOf(context, db);
  const known = identityOf(row);
  const determines = role === 'trainer' || (known?.role !== 'trainer' && row.planned_step === 0);
  if (determines) await write(context, db, claim);
}

const rowOf = (context: RunContext, db: Connection): Promise<Row> =>
  locked(
    context,
    db.selectFrom('run').select(['name', 'identity', 'planned_step']).where('id', '=', context.run),
  ).executeTakeFirstOrThrow();

/**
 * Reads the identity of a training run.
 * @throws BufferError if the identity is damaged
 */
function identityOf({ name, identity }: Row): Identity | undefined {
  if (identity === null) return undefined;
  const [checksum, json = ''] = /^(\d+) (.*)$/s.exec(identity)?.slice(1) ?? [];
  assertChecksum(Number(checksum), textChecksum(json), `The identity of the run "${name}"`);
  return JSON.parse(json) as Identity;
}

async function write({ run }: RunContext, db: Connection, claim: RunClaim): Promise<void> {
  const { role, id, host, folder, place, settings } = claim;
  const json = JSON.stringify({ role, id, host, folder, place, settings } satisfies Identity);
  await db
    .updateTable('run')
    .set({ identity: `${textChecksum(json)} ${json}` })
    .where('id', '=', run)
    .execute();
}

/**
 * Returns the reason why the claim is for another training run, or undefined if the claim is for
 * this training run.
 */
function mismatch(name: string, known: Identity, claim: RunClaim): string | undefined {
  const isHere = known.host === claim.host;
  const made = `The run "${name}" in ${claim.place} was started by ${known.role === 'trainer' ? 'a trainer' : 'an explorer'} in ${known.folder} on ${known.host}`;
  if (known.id === claim.id) {
    const isCopy =
      isHere &&
      known.place === claim.place &&
      known.folder !== claim.folder &&
      claim.isAt(known.folder, known.id);
    return isCopy
      ? `${made}, which is still there; ${claim.folder} is a copy of that folder. Two folders cannot continue one run: resume the run there, or delete that folder.`
      : undefined;
  }
  // Explorers on other machines have separate folders. A trainer may join a training run that only
  // explorers have started.
  if (!isHere && (claim.role === 'explorer' || known.role === 'explorer')) return undefined;
  const here =
    known.folder === claim.folder
      ? 'that folder has been deleted or emptied since'
      : `the folder of this ${claim.role} is ${claim.folder}${isHere ? '' : ` on ${claim.host}`}, which does not hold that run`;
  return `${made}, and ${here}.${differences(known.settings, claim.settings)}`;
}

/**
 * Returns a problem if a store without an identity, which an earlier version created, contains
 * steps of another training run. This is so if train steps are stored in it, but the trainer's
 * folder contains none.
 */
async function stepsOfOtherRun(
  { run }: RunContext,
  db: Connection,
  claim: RunClaim,
): Promise<string | undefined> {
  if (claim.role !== 'trainer' || claim.hasBegun) return undefined;
  const step = await db
    .selectFrom('train_step')
    .select('train_step')
    .where('run', '=', run)
    .limit(1)
    .executeTakeFirst();
  return step === undefined
    ? undefined
    : `${claim.place} holds train steps of an earlier run of this name, and ${claim.folder} holds none of them.`;
}

function differences(known: Agreement, own: Agreement): string {
  const different = differing(known, own).slice(0, 3);
  const values = different.map(
    (key) => `${key} is ${own[key] ?? 'not set'} here and ${known[key] ?? 'not set'} there`,
  );
  return values.length === 0 ? '' : ` The settings differ too: ${values.join('; ')}.`;
}

/** Returns the keys for which the two agreements have different values. */
export const differing = (one: Agreement, other: Agreement): readonly string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter(
    (key) => one[key] !== other[key],
  );

const liveMembers = (
  context: RunContext,
  db: Connection,
): Promise<readonly { role: string; name: string; host: string; pid: number }[]> =>
  db
    .selectFrom('member')
    .select(['role', 'name', 'host', 'pid'])
    .where('run', '=', context.run)
    .where(isAlive(context))
    .execute();

interface Refused {
  readonly claim: RunClaim;
  readonly members: Awaited<ReturnType<typeof liveMembers>>;
  readonly problem: string;
}

/**
 * Renames the earlier training run, keeping its rows, if the claim has the option `--new-run`.
 * Refuses the claim without this option, and also if the claim's folder contains steps or a worker
 * is alive.
 */
async function setAsideOr(
  { run }: RunContext,
  db: Connection,
  { claim, members, problem }: Refused,
): Promise<'set aside'> {
  if (!claim.startsOver)
    throw refused(
      `${problem} Resume that run from its folder, give this one a name of its own (name), or start over with --new-run, which sets the earlier run aside.`,
    );
  if (claim.hasBegun)
    throw refused(
      `${problem} ${claim.folder} holds steps of another run, so --new-run cannot start over in it. Give this run a name of its own, or delete that folder.`,
    );
  const [member] = members;
  if (member)
    throw refused(
      `${problem} --new-run cannot set that run aside while its ${member.role} ${member.name} (process ${member.pid} on ${member.host}) is at work. End it, or give this run a name of its own.`,
    );
  const { name } = await db
    .selectFrom('run')
    .select('name')
    .where('id', '=', run)
    .executeTakeFirstOrThrow();
  await db
    .updateTable('run')
    .set({ name: `${name} (set aside: ${run})` })
    .where('id', '=', run)
    .execute();
  return 'set aside';
}

const refused = (message: string): ConfigError => new ConfigError(message, { code: 'RUN_DIFFERS' });
