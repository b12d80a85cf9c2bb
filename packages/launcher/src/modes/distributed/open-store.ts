/** Opens the store that the processes of a training run share. */
import { mkdir, realpath } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import type { Logger } from '@trinity-rft/core';
import type { Agreement, MemberRole, RunStore } from '@trinity-rft/core/store';
import type { RunClaim } from '@trinity-rft/buffer/run-store';
import { isWithin, readRunId, runIdOf } from '../../assembly/data/run-id.js';
import { withoutPassword, writeStorePlace } from '../../watch/store-file.js';

/** Longest time between two reads of the store, in ms. A change triggers an earlier read. */
export const lookEveryMs = 1000;

interface StoreOptions {
  /** True if an earlier process has started the steps of the stage. @default false */
  readonly hasBegun?: boolean;
  /**
   * True to start over if the store has an earlier training run of this name. The earlier run is
   * kept under another name.
   * @default false
   */
  readonly newRun?: boolean;
  readonly runtime: { readonly logger: Pick<Logger, 'warn'> };
  readonly signal: AbortSignal;
}

/**
 * Opens the store of a stage.
 * @throws BufferError when the store cannot be opened, ConfigError when the store holds another
 * training run of the same name
 */
export async function openStageStore(
  stage: Pick<StageConfig, 'runStore' | 'jobDirectory' | 'project' | 'group' | 'name'>,
  { role, agreement }: { readonly role: MemberRole; readonly agreement: Agreement },
  { hasBegun = false, newRun, runtime, signal }: StoreOptions,
): Promise<RunStore> {
  const { runStore: url, jobDirectory, project, group, name } = stage;
  const run = path.posix.join(project, group, name);
  await mkdir(jobDirectory, { recursive: true });
  const isFile = !url.includes('://');
  if (isFile) await mkdir(path.dirname(url), { recursive: true });
  const onNotice = (text: string): void => runtime.logger.warn(text);
  // A store inside the folder moves with the folder, so the two always belong together.
  const isInside = isFile && isWithin(jobDirectory, url);
  const claim: RunClaim = {
    role,
    id: isInside ? 'in its folder' : await runIdOf(jobDirectory),
    host: hostname(),
    folder: await realpath(jobDirectory),
    place: isFile ? path.resolve(url) : withoutPassword(url),
    settings: agreement,
    hasBegun: isInside || hasBegun,
    isAt: (folder, id) => readRunId(folder) === id,
    startsOver: newRun,
  };
  // Imported lazily, because most training runs have no such store and its libraries take long to
  // load.
  const { openRunStore } = await import('@trinity-rft/buffer/run-store');
  const store = await openRunStore({ url, run, claim, onNotice, stop: signal });
  writeStorePlace(jobDirectory, { url, run });
  return store;
}
