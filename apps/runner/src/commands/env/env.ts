/** `trinity env`: commands for environments outside of a run. */
import type { AddCommand } from '../../shared/command.js';
import { addInfo, addList } from './describe.js';
import { addPlay } from './play.js';
import { addServe } from './serve.js';
import { addSolve, addTasks } from './tasks.js';
import { addTest } from './test.js';

export const addEnv: AddCommand = (program, context) => {
  const env = program
    .command('env')
    .description(
      'environments: list them, play one by hand, write its tasks, let its solver play, test it, serve it',
    );
  const commands = [addList, addInfo, addPlay, addTasks, addSolve, addTest, addServe];
  for (const add of commands) add(env, context);
};
