/** The store that the processes of a run share. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { RunStore } from '@trinity-rft/core/internal';
import { openRunStore } from '@trinity-rft/store';
import type { StageContext } from '../../context/stage-context.js';

/** Longest time between two looks at the store, in ms; changes wake earlier. */
export const lookEveryMs = 1000;

/** @throws BufferError when it cannot be opened */
export async function openStageStore({
  stage,
  runtime,
}: Pick<StageContext, 'stage' | 'runtime'>): Promise<RunStore> {
  const { runStore: url, project, group, name } = stage;
  if (!url.includes('://')) await mkdir(path.dirname(url), { recursive: true });
  const onNotice = (text: string): void => runtime.logger.warn(text);
  return openRunStore({ url, run: path.posix.join(project, group, name), onNotice });
}
