/** `trinity reward`: stores rewards that arrive after their rollouts. */
import { ConfigError } from '@trinity-rft/core';
import type { AddCommand, Write } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { pluginsOf, withPlugins, type PluginOptions } from '../shared/options.js';

export const addReward: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(program.command('reward <run> [id] [value]'))
    .description('gives a run whose reward is pending its reward; without an id, lists such runs')
    .addHelpText(
      'after',
      '\n<run> is a configuration, the folder of a run, or a database (.db).\n[id] is explore step/task/run, as in 3/1/0; write a negative [value] after --.',
    )
    .action(
      exitWith((run: string, id: string | undefined, value: string | undefined, given) =>
        reward({ run, id, value }, given as PluginOptions, write),
      ),
    );

interface RewardArguments {
  readonly run: string;
  readonly id: string | undefined;
  readonly value: string | undefined;
}

async function reward(
  { run, id, value }: RewardArguments,
  given: PluginOptions,
  write: Write,
): Promise<number> {
  const { giveReward, runsThatWait } = await import('@trinity-rft/inspect');
  if (id === undefined) {
    const waiting = await runsThatWait(run, pluginsOf(given));
    for (const { run: waits, deadline } of waiting)
      write(`${waits}  until ${new Date(deadline).toISOString()}\n`);
    if (waiting.length === 0) write('No run waits for a reward.\n');
    return exitCodes.done;
  }
  if (value === undefined || value.trim() === '' || !Number.isFinite(Number(value)))
    throw new ConfigError(
      `The reward of run "${id}" is ${value === undefined ? 'missing' : `"${value}"`}; expected a number: trinity reward RUN ID VALUE.`,
      { code: 'REWARD_INVALID' },
    );
  await giveReward(run, { id, reward: Number(value) }, pluginsOf(given));
  write(`Run ${id} has the reward ${Number(value)}.\n`);
  return exitCodes.done;
}
