/** `trinity env list` and `trinity env info`. */
import type { ArgProblem } from '@trinity-rft/core';
import { alignColumns } from '@trinity-rft/core/support';
import type { EnvironmentDefinition } from '@trinity-rft/environment';
import type { AddCommand } from '../../shared/command.js';
import { exitCodes } from '../../shared/exit-codes.js';
import { pluginsOf, withPlugins, type PluginOptions } from '../../shared/options.js';
import { withWorld, worldOf, type WorldArguments } from './options.js';
import { toolLines } from './tool-lines.js';

export const addList: AddCommand = (env, { exitWith, write }) =>
  void withPlugins(env.command('list'))
    .description('the environments that workflow_args.environment can name')
    .action(
      exitWith(async (given: PluginOptions) => {
        const { listEnvironments } = await import('@trinity-rft/launcher/parts');
        const all = await listEnvironments(pluginsOf(given));
        const rows = all.map((each) => [each.name, `${each.description}${marksOf(each)}`]);
        for (const line of alignColumns(rows)) write(`${line}\n`);
        return exitCodes.done;
      }),
    );

const marksOf = ({ tasks, solver, judged }: EnvironmentDefinition): string => {
  const marks = [
    tasks && 'generates tasks',
    solver && 'has a solver',
    judged && 'asks a judge, if there is one',
  ].filter(Boolean);
  return marks.length === 0 ? '' : ` (${marks.join(', ')})`;
};

export const addInfo: AddCommand = (env, { exitWith, write }) =>
  void withWorld(env.command('info <name>'))
    .description('what an environment takes, how it is played, and how its first task begins')
    .action(
      exitWith(async (name: string, given: WorldArguments) => {
        const { loadExtensions, openWorld } = await import('@trinity-rft/launcher/parts');
        const options = worldOf(name, given);
        const { environments } = await loadExtensions(options);
        const definition = environments.get(name);
        const missing = given.args === undefined ? definition.checkArgs({}) : [];
        const world = missing.length === 0 ? await openWorld(options) : undefined;
        try {
          write(`${definition.name}: ${definition.description}\n\n`);
          write(`environment_args\n${await argsOf(definition)}\n`);
          write(`${playOf(definition)}\n`);
          write(yamlOf(definition, options.args ?? {}));
          if (world === undefined) write(`\nGive --args to open it.\n${linesOf(missing)}`);
          if (world === undefined || definition.tasks === undefined) return exitCodes.done;
          const [row = {}] = world.tasks('train', 1, 0);
          const { episode } = await world.begin(row);
          write(`\nIts first task, ${JSON.stringify(row)}\n`);
          const { instructions, observation, tools = [] } = episode;
          if (instructions !== undefined) write(`\n${instructions}\n`);
          if (tools.length > 0) write(`\nIts tools\n${toolLines(tools)}\n`);
          write(`\n${observation}\n`);
          await episode.close();
          return exitCodes.done;
        } finally {
          await world?.close();
        }
      }),
    );

const linesOf = (problems: readonly ArgProblem[]): string =>
  problems.map(({ path, message }) => `  ${path.join('.')}: ${message}\n`).join('');

/**
 * Returns one line of text per argument of the environment, or `anything goes` if the environment
 * declares no arguments.
 */
async function argsOf({ args }: EnvironmentDefinition): Promise<string> {
  const { describeArgs } = await import('@trinity-rft/environment/playing');
  const described = args === undefined ? undefined : describeArgs(args);
  if (described === undefined) return '  anything goes\n';
  const lines = described.map(({ name, text }) => `  ${name}: ${text}\n`);
  return lines.length === 0 ? '  none\n' : lines.join('');
}

const playOf = ({ play }: EnvironmentDefinition): string =>
  `Played in up to ${play.maxTurns ?? 20} turns, actions written as ${play.actionFormat ?? 'the whole answer'}, rewards combined by ${play.reward ?? 'sum'}.\n`;

const yamlOf = ({ name, tasks }: EnvironmentDefinition, args: object): string => `buffer:
  explorer_input:
    default_workflow_type: environment_workflow
    taskset:
${tasks === undefined ? '      path: tasks.jsonl' : '      storage_type: generated\n      task_count: 256'}
      workflow_args:
        environment: ${name}
        environment_args: ${JSON.stringify(args)}
`;
