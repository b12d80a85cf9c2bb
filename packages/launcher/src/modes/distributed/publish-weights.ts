/**
 * The trainer's part of the weight sync. It publishes the files of weights, their digest, and the
 * log-probabilities of a fixed text.
 */
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { ChatFormat } from '@trinity-rft/chat';
import type { StageConfig } from '@trinity-rft/config';
import type { Engine } from '@trinity-rft/core/engine';
import type { Membership, PublishedWeights, RunStore } from '@trinity-rft/core/store';
import { removeFolder, replaceFolder } from '@trinity-rft/core/support';
import { probeTokens, scoreProbe } from '../../assembly/models/probe.js';
import { takesAdapters } from '../../assembly/models/samplers.js';
import type { StageTransport } from '../../assembly/transport.js';
import {
  addressFile,
  listName,
  problemOfWeights,
  storeFile,
  writeWeightList,
} from './weight-files.js';

export interface PublishOptions {
  readonly stage: StageConfig;
  readonly store: RunStore;
  readonly member: Membership;
  readonly engine: Pick<Engine, 'capabilities' | 'trainer'>;
  /** Maximum sequence length of the sampler, in tokens, which limits the fixed text. */
  readonly maxModelLen: number;
  readonly format: ChatFormat;
  /** Called with the version for which explore steps are planned from now on. */
  readonly onAdopt: (version: number) => void;
}

/**
 * Creates the transport that publishes weights to explorers, as folders `sync/version_N` or in the
 * store.
 */
export function publishingTransport(options: PublishOptions): StageTransport {
  const { onAdopt } = options;
  return {
    publish: (version, exploredUpTo, final = false) =>
      publish(options, { version, exploredUpTo, final }),
    adopt: async (version) => onAdopt(version),
    // The files remain until the training run has ended, for explorers that join later.
    close: () => Promise.resolve(),
  };
}

export const weightsRoot = ({ jobDirectory }: StageConfig): string =>
  path.join(jobDirectory, 'sync');

const folderOf = (stage: StageConfig, version: number): string =>
  path.join(weightsRoot(stage), `version_${version}`);

async function publish(
  options: PublishOptions,
  { version, exploredUpTo, final }: Pick<PublishedWeights, 'version' | 'exploredUpTo' | 'final'>,
): Promise<void> {
  const { stage, store, member, engine, format, maxModelLen } = options;
  const filling = `${folderOf(stage, version)}.tmp`;
  await rm(filling, { recursive: true, force: true });
  await mkdir(filling, { recursive: true });
  const merged = !takesAdapters(stage, engine.capabilities);
  await engine.trainer.save(filling, { optimizer: false, merged });
  const probe = await scoreProbe(engine.trainer, probeTokens(format, maxModelLen));
  const { list, digest } = await writeWeightList(filling, { run: stage.name, version, probe });
  const inStore = stage.synchronizer.syncMethod === 'memory';
  if (inStore) {
    const put = (file: string, bytes: Uint8Array): Promise<void> =>
      store.putWeightFile(member, { version, path: file, bytes });
    for (const file of list.files) await storeFile(filling, file, put);
    await put(listName, await readFile(path.join(filling, listName)));
    await rm(filling, { recursive: true, force: true });
  } else {
    const folder = folderOf(stage, version);
    const problem = await problemOfWeights(folder, { run: stage.name, version, digest });
    // A trainer that was started again publishes the same weights. Explorers may be reading them.
    if (problem !== undefined) await replaceFolder(filling, folder);
    else {
      if (list.files.some((file) => file.path === addressFile))
        await rename(path.join(filling, addressFile), path.join(folder, addressFile));
      await rm(filling, { recursive: true, force: true });
    }
  }
  const published: PublishedWeights = {
    version,
    exploredUpTo,
    final,
    location: inStore ? { kind: 'store' } : { kind: 'folder', path: folderOf(stage, version) },
    digest,
    probe,
  };
  // Explorers take exactly these weights, also if the final evaluation of a training run that was
  // made longer used later ones.
  await store.publishWeights(member, published, {
    resumes: !final && stage.synchronizer.syncStyle === 'fixed',
  });
  await removeOld(options, version);
}

/** Number of versions to keep. An explorer may still read the version before the newest. */
const keptVersions = 2;

async function removeOld(
  { stage, store, member }: PublishOptions,
  published: number,
): Promise<void> {
  const newest = (await store.publishedWeights())?.version ?? 0;
  if (stage.synchronizer.syncMethod === 'memory') {
    await store.deleteWeightFilesBefore(member, newest);
    return;
  }
  const root = weightsRoot(stage);
  const names = await readdir(root);
  // A trainer that was killed while it published leaves folders with temporary names.
  for (const name of names.filter((each) => each.endsWith('.tmp')))
    await rm(path.join(root, name), { recursive: true, force: true });
  const versions = names
    .flatMap((name) => /^version_(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => b - a);
  // The store no longer knows versions above the newest.
  const kept = versions.filter((version) => version <= newest).slice(0, keptVersions);
  for (const version of versions)
    if (version !== published && !kept.includes(version))
      await removeFolder(folderOf(stage, version));
}
