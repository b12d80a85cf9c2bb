import { mkdtempSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Engine } from '@trinity-rft/core/engine';
import { notFound } from '../refusals/refusal.js';
import { folderOf } from './checkpoints.js';
import type { Session, Sessions } from './sessions.js';
import type { TrainingRun } from './training-run.js';

/** A sampler of a client, which samples from saved weights, a snapshot or the base model. */
export interface SamplerFacts {
  readonly id: string;
  readonly sessionId: string;
  /**
   * Tinker path of the weights, `tinker://RUN/KIND/NAME`. Undefined for the base model and for
   * snapshots.
   */
  readonly uri: string | undefined;
  /** Folder of the weights; undefined for the base model. */
  readonly weights: string | undefined;
}

export interface Samplers {
  create(sampler: Omit<SamplerFacts, 'id'>, seqId: number): SamplerFacts;
  /**
   * Creates a sampler for a snapshot of the current weights of a training run. The snapshot has no
   * Tinker path. The {@link keptSnapshots} newest snapshots of each training run are kept until its
   * model is unloaded or its session ends.
   */
  snapshot(run: TrainingRun, engine: Engine, seqId: number): Promise<SamplerFacts>;
  /**
   * Finds a sampler by its id.
   * @throws Refusal 404 if the sampler is unknown
   */
  find(id: string): SamplerFacts;
  endOf(session: Session): void;
  /** Deletes the snapshots of a training run and their samplers. */
  endOfRun(runId: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Number of snapshots kept per training run. A client samples from the newest snapshot while its
 * earlier requests finish with the one before.
 */
const keptSnapshots = 2;

export function createSamplers(sessions: Pick<Sessions, 'find'>): Samplers {
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-tinker-'));
  const snapshotsOf = (runId: string): string => path.join(root, folderOf(runId));
  const samplers = new Map<string, SamplerFacts>();
  const create: Samplers['create'] = (sampler, seqId) => {
    const session = sessions.find(sampler.sessionId);
    const created = { ...sampler, id: `${session.id}:sample:${seqId}` };
    session.samplers.add(created.id);
    samplers.set(created.id, created);
    return created;
  };
  /** Snapshots of each training run, oldest first. */
  const snapshots = new Map<string, readonly SamplerFacts[]>();
  const forget = async (old: SamplerFacts): Promise<void> => {
    // A client that repeats `seqId` has replaced the sampler.
    if (samplers.get(old.id) === old) samplers.delete(old.id);
    if (old.weights !== undefined) await rm(old.weights, { recursive: true, force: true });
  };
  return {
    create,
    snapshot: async ({ facts: { id, sessionId } }, { trainer }, seqId) => {
      const folder = snapshotsOf(id);
      await mkdir(folder, { recursive: true });
      // Each snapshot has its own folder, because a client can repeat `seqId`.
      const weights = await mkdtemp(path.join(folder, `${seqId}-`));
      await trainer.save(weights, { optimizer: false });
      const created = create({ sessionId, uri: undefined, weights }, seqId);
      const all = [...(snapshots.get(id) ?? []), created];
      snapshots.set(id, all.slice(-keptSnapshots));
      for (const old of all.slice(0, -keptSnapshots)) await forget(old);
      return created;
    },
    find: (id) => samplers.get(id) ?? notFound(`There is no sampler ${id}`),
    endOf: (session) => {
      for (const id of session.samplers) samplers.delete(id);
    },
    endOfRun: async (runId) => {
      for (const snapshot of snapshots.get(runId) ?? []) await forget(snapshot);
      snapshots.delete(runId);
      await rm(snapshotsOf(runId), { recursive: true, force: true });
    },
    close: () => rm(root, { recursive: true, force: true }),
  };
}
