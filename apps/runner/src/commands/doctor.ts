/**
 * `trinity doctor`: applies the diagnosis rules to the files of a run. Parent command of `trinity
 * doctor gpu`.
 */
import { jsonText, type AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { pluginsOf, withPlugins, type PluginOptions } from '../shared/options.js';
import { addDoctorGpu } from './doctor-gpu.js';

interface DoctorArguments extends PluginOptions {
  readonly json?: boolean;
}

/** Adds `doctor`, which ends with exit code 1 if there are findings. */
export const addDoctor: AddCommand = (program, context) => {
  const { exitWith, write } = context;
  const doctor = withPlugins(program.command('doctor <run>'))
    .description(
      'what is wrong with a run: rules over its metrics and rollouts, with what to change',
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\n<run> is a configuration, or the folder of a run, which may still be running. Exit code 1 when something was found.',
    )
    .action(
      exitWith(async (run: string, given: DoctorArguments) => {
        const { diagnoseRun, renderDiagnosis } = await import('@trinity-rft/inspect');
        const diagnosis = await diagnoseRun(run, pluginsOf(given));
        write(given.json === true ? jsonText(diagnosis) : renderDiagnosis(diagnosis));
        const isHealthy = diagnosis.stages.every(({ findings }) => findings.length === 0);
        return isHealthy ? exitCodes.done : exitCodes.failed;
      }),
    );
  addDoctorGpu(doctor, context);
};
