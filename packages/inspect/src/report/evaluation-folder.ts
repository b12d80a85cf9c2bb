/** A temporary folder in which a run is evaluated without changing the run's own folder. */
import { copyFile, mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { readConfiguration, type ConfigurationOptions } from '@trinity-rft/launcher';

/** File with the number of stages that a run has finished. */
const progressFile = 'stage_meta.json';

/**
 * Creates the folder of the run below `overrides.checkpoint_root_dir`. The folders of all stages
 * except the last are links to the stage folders of the run itself.
 */
export async function createEvaluationFolder(
  options: ConfigurationOptions,
  overrides: NonNullable<ConfigurationOptions['overrides']>,
): Promise<void> {
  const { config: here } = (await readConfiguration({ ...options, readsRun: true })).loaded;
  const read = { ...options, overrides, readsRun: true };
  const { config: there } = (await readConfiguration(read)).loaded;
  await mkdir(there.jobDirectory, { recursive: true });
  for (const [i, { jobDirectory }] of there.stages.slice(0, -1).entries())
    await symlink(here.stages[i]?.jobDirectory ?? '', jobDirectory, 'junction');
  if (there.stages.length > 1)
    await copyFile(
      path.join(here.jobDirectory, progressFile),
      path.join(there.jobDirectory, progressFile),
    );
}
