/** `trinity env`: environments, without a run. */
import type { AddCommand } from '../../shared/command.js';
import { addInfo, addList } from './describe.js';
import { addPlay } from './play.js';
import { addSolve, addTasks } from './tasks.js';

export const addEnv: AddCommand = (program, context) => {
  const env = program
    .command('env')
    .description('environments: list them, play one by hand, write its tasks, let its solver play');
  for (const add of [addList, addInfo, addPlay, addTasks, addSolve]) add(env, context);
};
