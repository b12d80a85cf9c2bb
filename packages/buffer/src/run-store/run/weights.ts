/** Stores and reads published weights, and weight files that are transferred through the store. */
import { basename, dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { BufferError } from '@trinity-rft/core';
import type {
  DeliveryProbe,
  PublishedWeights,
  RunStore,
  WeightFile,
} from '@trinity-rft/core/store';
import type { WeightsRow } from '../database/tables.js';
import { assertChecksum } from '../database/checksums.js';
import { writeAs, type Connection, type RunContext } from './context.js';

/**
 * Maximum number of bytes per row. Larger files are split into several rows, because databases hold
 * whole rows in memory.
 */
const chunkBytes = 4 << 20;
/** Value of the column `boundary` for all weights except those of the final evaluation. */
const ordinary = -1;
const ofFinalEvaluation = -2;

type Weights = Pick<
  RunStore,
  | 'publishWeights'
  | 'publishedWeights'
  | 'putWeightFile'
  | 'getWeightFile'
  | 'deleteWeightFilesBefore'
  | 'reportDelivery'
>;

export function weights(context: RunContext): Weights {
  const { database, run } = context;
  return {
    publishWeights: (member, published, { resumes = false } = {}) =>
      writeAs(context, member, 'publish weights', async (db) => {
        if (resumes) await forgetLater(context, db, published);
        await publish(context, db, published);
      }),
    publishedWeights: () =>
      database.read('read which weights are published', (db) => newest(context, db)),
    putWeightFile: (member, file) =>
      writeAs(context, member, 'store a file of weights', (db) => putFile(context, db, file), {
        notifies: () => false,
      }),
    getWeightFile: (version, path) =>
      database.read('read a file of weights', async (db) => {
        const chunks = await db
          .selectFrom('file')
          .select(['chunk', 'bytes', 'checksum'])
          .where('run', '=', run)
          .where('version', '=', version)
          .where('path', '=', path)
          .orderBy('chunk')
          .execute();
        for (const { chunk, bytes, checksum } of chunks)
          assertChecksum(checksum, crc32(bytes), `Part ${chunk} of ${path} of version ${version}`);
        return chunks.length === 0 ? undefined : joined(chunks.map(({ bytes }) => bytes));
      }),
    deleteWeightFilesBefore: (member, version) =>
      writeAs(context, member, 'delete files of weights', async (db) => {
        await db.deleteFrom('file').where('run', '=', run).where('version', '<', version).execute();
      }),
    reportDelivery: (member, delivery) =>
      writeAs(context, member, 'record a delivery of weights', async (db) => {
        await db
          .updateTable('member')
          .set({ delivery: JSON.stringify(delivery) })
          .where('run', '=', run)
          .where('epoch', '=', member.epoch)
          .execute();
      }),
  };
}

async function publish(
  context: RunContext,
  db: Connection,
  published: PublishedWeights,
): Promise<void> {
  const { run } = context;
  const { version, digest, location, final } = published;
  const other = await db
    .selectFrom('weights')
    .select('digest')
    .where('run', '=', run)
    .where('version', '=', version)
    .where('digest', '<>', digest)
    .executeTakeFirst();
  if (other) throw otherWeights(published, other.digest);
  const row = {
    explored_up_to: published.exploredUpTo,
    location: JSON.stringify(location),
    probe: JSON.stringify(published.probe),
  };
  await db
    .insertInto('weights')
    .values({ run, version, boundary: final ? ofFinalEvaluation : ordinary, digest, ...row })
    .onConflict((conflict) => conflict.columns(['run', 'version', 'boundary']).doUpdateSet(row))
    .execute();
  if (location.kind === 'folder') await moveLater(context, db, { version, path: location.path });
  // The weights of a finished training run were deleted. The end is cleared only when its newest
  // weights exist again.
  if ((await newest(context, db))?.version === version)
    await db.updateTable('run').set({ end_step: null }).where('id', '=', run).execute();
}

/**
 * If the training run has ended or its final evaluation has begun, deletes the weights of versions
 * after `version`.
 */
async function forgetLater(
  { run }: RunContext,
  db: Connection,
  { version }: PublishedWeights,
): Promise<void> {
  const { end_step: end } = await db
    .selectFrom('run')
    .select('end_step')
    .where('id', '=', run)
    .executeTakeFirstOrThrow();
  const final = await db
    .selectFrom('weights')
    .select('version')
    .where('run', '=', run)
    .where('boundary', '=', ofFinalEvaluation)
    .executeTakeFirst();
  const all = db.deleteFrom('weights').where('run', '=', run);
  await all.where('boundary', '=', ofFinalEvaluation).execute();
  if (end !== null || final) await all.where('version', '>', version).execute();
}

/**
 * Corrects the paths of later versions after the training run's folder was moved. A resumed trainer
 * publishes them again. Their folders are next to `path`, the folder of `version`.
 */
async function moveLater(
  { run }: RunContext,
  db: Connection,
  { version, path }: { readonly version: number; readonly path: string },
): Promise<void> {
  const later = await db
    .selectFrom('weights')
    .select(['version', 'boundary', 'location'])
    .where('run', '=', run)
    .where('version', '>', version)
    .execute();
  for (const row of later) {
    const location = JSON.parse(row.location) as PublishedWeights['location'];
    if (location.kind !== 'folder') continue;
    const moved = { ...location, path: join(dirname(path), basename(location.path)) };
    await db
      .updateTable('weights')
      .set({ location: JSON.stringify(moved) })
      .where('run', '=', run)
      .where('version', '=', row.version)
      .where('boundary', '=', row.boundary)
      .execute();
  }
}

const otherWeights = ({ version, digest }: PublishedWeights, other: string): BufferError =>
  new BufferError(
    `Version ${version} is published with other weights (digest ${other.slice(0, 12)}, now ${digest.slice(0, 12)}): making its train steps again did not end in the same weights. Has the configuration, the model, the machine, the Tinker server or the version of Trinity-RFT changed? Start the run again with another name.`,
    { code: 'STORE_OTHER_WEIGHTS' },
  );

/** Returns the newest published weights. */
export async function newest(
  { run }: RunContext,
  db: Connection,
): Promise<PublishedWeights | undefined> {
  const row = await db
    .selectFrom('weights')
    .selectAll()
    .where('run', '=', run)
    .orderBy('version', 'desc')
    .orderBy('boundary', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toPublished(row);
}

const toPublished = (row: WeightsRow): PublishedWeights => ({
  version: row.version,
  exploredUpTo: row.explored_up_to,
  final: row.boundary === ofFinalEvaluation,
  location: JSON.parse(row.location) as PublishedWeights['location'],
  digest: row.digest,
  probe: JSON.parse(row.probe) as DeliveryProbe,
});

async function putFile({ run }: RunContext, db: Connection, file: WeightFile): Promise<void> {
  const { version, path, bytes: all } = file;
  await db
    .deleteFrom('file')
    .where('run', '=', run)
    .where('version', '=', version)
    .where('path', '=', path)
    .execute();
  // An empty file is stored as one empty part.
  const count = Math.max(1, Math.ceil(all.length / chunkBytes));
  for (let chunk = 0; chunk < count; chunk++) {
    const bytes = all.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes);
    await db
      .insertInto('file')
      .values({ run, version, path, chunk, bytes, checksum: crc32(bytes) })
      .execute();
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only) return only;
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
