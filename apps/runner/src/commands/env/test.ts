/** `trinity env test`: checks the contract of an environment. */
import type { EnvironmentCheck } from '@trinity-rft/environment';
import type { AddCommand } from '../../shared/command.js';
import { integerOf } from '../../shared/arguments.js';
import { exitCodes } from '../../shared/exit-codes.js';
import { withWorld, worldOf, type WorldArguments } from './options.js';

interface TestArguments extends WorldArguments {
  readonly atOnce: string;
}

export const addTest: AddCommand = (env, { exitWith, write }) =>
  void withWorld(env.command('test <name>'))
    .description('check an environment: equal starts, refusals, deadlines, splits, its solver')
    .option('--at-once <number>', 'episodes open at once; fewer where each is a process', '100')
    .action(
      exitWith(async (name: string, given: TestArguments) => {
        const { loadExtensions } = await import('@trinity-rft/launcher/parts');
        const { checkEnvironment } = await import('@trinity-rft/environment');
        const world = worldOf(name, given);
        const { environments } = await loadExtensions(world);
        const definition = environments.get(name);
        const onCheck = (check: EnvironmentCheck): void => write(lineOf(check));
        const episodesAtOnce = integerOf('--at-once', given.atOnce, 1);
        const checks = await checkEnvironment(definition, { ...world, episodesAtOnce, onCheck });
        const failed = checks.filter(({ outcome }) => outcome === 'failed').length;
        write(
          failed === 0
            ? `${name} passes.\n`
            : `${name} fails ${failed} of ${checks.length} checks.\n`,
        );
        return failed === 0 ? exitCodes.done : exitCodes.failed;
      }),
    );

const marks = { passed: 'ok  ', failed: 'FAIL', skipped: '-   ' } as const;

const lineOf = ({ name, outcome, detail }: EnvironmentCheck): string =>
  `${marks[outcome]} ${name}${detail === undefined ? '' : `: ${detail}`}\n`;
