/** The store that the processes of a run share. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from '@trinity-rft/core';
import type { RunStore } from '@trinity-rft/core/internal';
import type { StageContext } from '../../context/stage-context.js';
import { writeStorePlace } from '../../watch/store-file.js';

/** Longest time between two looks at the store, in ms; changes wake earlier. */
export const lookEveryMs = 1000;

interface StoreContext {
  readonly stage: Pick<
    StageContext['stage'],
    'runStore' | 'jobDirectory' | 'project' | 'group' | 'name'
  >;
  readonly runtime: { readonly logger: Pick<Logger, 'warn'> };
}

/** @throws BufferError when it cannot be opened */
export async function openStageStore({ stage, runtime }: StoreContext): Promise<RunStore> {
  const { runStore: url, jobDirectory, project, group, name } = stage;
  const run = path.posix.join(project, group, name);
  await mkdir(jobDirectory, { recursive: true });
  if (!url.includes('://')) await mkdir(path.dirname(url), { recursive: true });
  const onNotice = (text: string): void => runtime.logger.warn(text);
  // Here and not above: most runs have no such store, and its libraries take long to load.
  const { openRunStore } = await import('@trinity-rft/store');
  const store = await openRunStore({ url, run, onNotice });
  writeStorePlace(jobDirectory, { url, run });
  return store;
}
