import path from 'node:path';
import { alignColumns, shellText } from '@trinity-rft/core/support';
import type { RunSummary } from '@trinity-rft/launcher';
import type { PluginOptions } from './options.js';

/** Returns a sentence about how to continue a stopped run. */
export const howToGoOn = ({ continues, name }: RunSummary): string =>
  continues
    ? 'The same command continues from there.'
    : `The same command starts a new run, as continue_from_checkpoint is false; to continue this one, set it to true, and name to ${name}.`;

/** Returns text with commands that a user may want to run next, with this run's paths. */
export async function nextSteps(
  configPath: string,
  { jobDirectory, checkpoint, hasEvaluations }: RunSummary,
  { plugin, pluginDir }: PluginOptions,
): Promise<string> {
  const { findRecords, shellPath } = await import('@trinity-rft/inspect');
  const recorded = await findRecords(jobDirectory).then(
    () => true,
    () => false,
  );
  const plugins = [
    ...plugin.map((each) => ` --plugin ${shellText(each)}`),
    ...pluginDir.map((each) => ` --plugin-dir ${shellText(each)}`),
  ].join('');
  const run = shellPath(jobDirectory);
  const config = `${shellPath(configPath)}${plugins}`;
  // A run on stored answers has nothing to learn from a product, so that its file is not served.
  const served = recorded
    ? `${config} --no-train`
    : `--model ${shellText(path.basename(jobDirectory))}=${run}`;
  const steps = [
    [`report ${run}`, 'did it learn, why, and what to do next'],
    [`log ${run}`, 'rewards, evaluations and warnings'],
    [`doctor ${run}`, 'what is wrong with it, if anything is'],
    ...(hasEvaluations ? [[`eval ${config}`, 'before and after training, task by task']] : []),
    ...(recorded
      ? [
          [`studio ${run}`, 'curves and recorded answers, in the browser'],
          // The command takes the configuration, because only the configuration names the model
          // that sampled before the first checkpoint.
          [`verify ${config}`, 'recorded log-probabilities against the weights'],
        ]
      : []),
    ...(checkpoint === undefined
      ? []
      : [[`serve ${served}`, 'the trained model as an OpenAI API']]),
  ];
  const rows = steps.map(([command, what]) => [`trinity ${command}`, `# ${what}`]);
  return `\nNext:\n${alignColumns(rows, '  ').join('\n')}\n`;
}
