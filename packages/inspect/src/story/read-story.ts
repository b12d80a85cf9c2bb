import path from 'node:path';
import type { ConfigurationOptions } from '@trinity-rft/launcher';
import { folderOfRun, nothingIn } from '../report/run-report.js';
import type { Story } from '../studio/interface/types.js';
import { findRuns } from '../studio/runs/place.js';
import { createRun } from '../studio/runs/run.js';
import { settingsOf } from '../studio/runs/settings.js';
import { storyOf } from '../studio/story/story.js';
import { isEvaluations } from '../verify/stages.js';

/**
 * Returns the story of the stage that changed last; of a benchmark only if no other stage has begun.
 * Writes nothing. Also works while the run continues.
 * @param run a configuration, or the folder of a run
 * @throws ConfigError when there is no such run
 */
export async function readStory(
  run: string,
  options: Omit<ConfigurationOptions, 'configPath'> = {},
): Promise<Story> {
  const folder = await folderOfRun(run, options);
  const { places } = await findRuns(folder);
  const modes = await Promise.all(
    places.map(async (each) =>
      (await isEvaluations(each.folder)) ? 'evaluations' : (await settingsOf(each.folder))['mode'],
    ),
  );
  const trained = modes.findIndex((mode) => mode !== 'evaluations' && mode !== 'bench');
  const place = places[trained === -1 ? modes.indexOf('bench') : trained];
  if (!place) throw await nothingIn(folder);
  const id = path.relative(path.dirname(folder), place.folder).split(path.sep).join('/');
  const opened = createRun({ ...place, id });
  try {
    return await storyOf(opened);
  } finally {
    opened.close();
  }
}
