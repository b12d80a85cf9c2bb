/** `trinity what-if`: applies another reward, advantage or loss to recorded rollouts. */
import type { Command } from 'commander';
import { jsonText, type AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { pluginsOf, withPlugins, type PluginOptions } from '../shared/options.js';
import { integerOf, invalid, numberOf, refuseUnused } from '../shared/arguments.js';

interface WhatIfArguments extends PluginOptions {
  readonly algorithm?: string;
  readonly advantage?: string;
  readonly loss?: string;
  readonly reward?: string;
  readonly steps: string;
  readonly drift: string;
  readonly groups: string;
  readonly json?: boolean;
}

export const addWhatIf: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(program.command('what-if <run>'))
    .description(
      'how another reward, advantage or loss would have ranked recorded rollouts, without a model',
    )
    .option('--algorithm <name>', 'algorithm_type whose parts are tried')
    .option('--advantage <name>', 'advantage_fn')
    .option('--loss <name>', 'policy_loss_fn')
    .option('--reward <name>', 'reward function; <run> must be a configuration')
    .option('--steps <number>', 'newest explore steps to look at', '5')
    .option('--drift <number>', 'how far the weights have moved since, in nats', '0')
    .option('--groups <number>', 'groups to show, most reordered first', '3')
    .option('--json', 'everything, as JSON')
    .addHelpText('after', '\n<run> is a configuration, or the folder of a run.')
    .action(
      exitWith(async (run: string, given: WhatIfArguments, command: Command) => {
        if (given.json === true) refuseUnused(command, 'with --json', '--groups');
        const { renderWhatIf, whatIfRun } = await import('@trinity-rft/inspect');
        const stores = await whatIfRun(run, {
          ...pluginsOf(given),
          change: changeOf(given),
          steps: integerOf('--steps', given.steps, 1),
          drift: numberOf('--drift', given.drift),
        });
        const groups = integerOf('--groups', given.groups);
        write(given.json === true ? jsonText(stores) : renderWhatIf(stores, { groups }));
        return exitCodes.done;
      }),
    );

function changeOf({ algorithm, advantage, loss, reward }: WhatIfArguments) {
  if ([algorithm, advantage, loss, reward].every((name) => name === undefined))
    throw invalid(
      'Nothing is changed. Name at least one of --algorithm, --advantage, --loss and --reward; "trinity algorithms" lists them.',
    );
  return { algorithm, advantageFn: advantage, policyLossFn: loss, rewardFn: reward };
}
