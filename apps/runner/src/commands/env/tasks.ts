/** `trinity env tasks` and `trinity env solve`: write generated tasks and their solutions. */
import type { AddCommand, Write } from '../../shared/command.js';
import { exitCodes } from '../../shared/exit-codes.js';
import { writeOutput } from '../../shared/output-file.js';
import { seedOf, splitOf, withTasks, worldOf, type TaskArguments } from './options.js';
import { integerOf } from '../../shared/arguments.js';

interface CountArguments extends TaskArguments {
  readonly count: string;
  readonly out?: string;
}

export const addTasks: AddCommand = (env, { exitWith, write }) =>
  void withTasks(env.command('tasks <name>'))
    .description('write generated tasks as JSON lines')
    .option('-n, --count <number>', 'how many', '10')
    .option('-o, --out <file>', 'where; by default on the terminal')
    .action(
      exitWith(async (name: string, given: CountArguments) => {
        const { openWorld } = await import('@trinity-rft/launcher/parts');
        const world = await openWorld(worldOf(name, given));
        try {
          const rows = world.tasks(
            splitOf(given),
            integerOf('--count', given.count, 1),
            seedOf(given),
          );
          await writeLines(rows, given.out, write);
          return exitCodes.done;
        } finally {
          await world.close();
        }
      }),
    );

export const addSolve: AddCommand = (env, { exitWith, write }) =>
  void withTasks(env.command('solve <name>'))
    .description('let the solver play tasks, and write its conversations as rows to imitate (sft)')
    .option('-n, --count <number>', 'how many', '10')
    .option('-o, --out <file>', 'where; by default only the result is shown')
    .action(
      exitWith(async (name: string, given: CountArguments) => {
        const { solveTasks } = await import('@trinity-rft/launcher/parts');
        const lines: { readonly messages: unknown; readonly tools: unknown }[] = [];
        let [count, reward, steps] = [0, 0, 0];
        const [split, seed] = [splitOf(given), seedOf(given)];
        const tasks = { split, count: integerOf('--count', given.count, 1), seed };
        for await (const each of solveTasks({ ...worldOf(name, given), ...tasks })) {
          const { messages, tools } = each;
          if (!each.isTruncated && each.reward > 0) lines.push({ messages, tools });
          count++;
          reward += each.reward;
          steps += each.steps;
        }
        if (given.out !== undefined && lines.length > 0) await writeLines(lines, given.out, write);
        const [mean, stepsPerTask] = [(reward / count).toFixed(3), (steps / count).toFixed(1)];
        const unsolved = count - lines.length;
        const rest = unsolved === 0 ? '' : `; ${unsolved} of them not solved, which gave no rows`;
        write(
          `${name}: the solver played ${count} tasks, mean reward ${mean}, ${stepsPerTask} steps a task${rest}\n`,
        );
        return lines.length > 0 ? exitCodes.done : exitCodes.failed;
      }),
    );

async function writeLines(
  rows: readonly unknown[],
  file: string | undefined,
  write: Write,
): Promise<void> {
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  if (file === undefined) return write(text);
  await writeOutput('--out', file, text);
  write(`${file}: ${rows.length} rows\n`);
}
