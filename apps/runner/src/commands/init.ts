/** `trinity init`: creates a project from a template, as `npm create @trinity-rft` does. */
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';

export const addInit: AddCommand = (program, { exitWith, write }) =>
  void program
    .command('init [folder]')
    .description('create a project that trains an agent (npm create @trinity-rft)')
    .option('-t, --template <name>', 'one of those that --list shows', 'openai')
    .option('--list', 'show the templates')
    .action(
      exitWith(async (folder = 'my-agent', given: { template: string; list?: boolean }) => {
        const { createProject, templates } = await import('@trinity-rft/create');
        if (given.list === true) {
          for (const { name, description } of templates)
            write(`${name.padEnd(18)}${description}\n`);
          return exitCodes.done;
        }
        const { template } = given;
        const created = await createProject({ folder, template });
        const next = created.next.map((line) => `  ${line}\n`).join('');
        write(`Created ${created.folder} from the template ${template}. Next:\n\n${next}\n`);
        return exitCodes.done;
      }),
    );
