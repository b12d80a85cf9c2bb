/**
 * Starts the run in the folder of its first argument, and kills itself when it has printed its
 * second argument.
 */
import { train } from './workspace.ts';

const [folder = '', text = ''] = process.argv.slice(2);
await train(folder, (output) => {
  if (output.includes(text)) process.kill(process.pid, 'SIGKILL');
});
