/** `trinity init`: creates a project from a template, as `npm create @trinity-rft` does. */
import { alignColumns } from '@trinity-rft/core/support';
import type { Command } from 'commander';
import { invalid, refuseUnused } from '../shared/arguments.js';
import type { AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';

interface InitArguments {
  readonly template: string;
  readonly list?: boolean;
}

export const addInit: AddCommand = (program, { exitWith, write }) =>
  void program
    .command('init [folder]')
    .description('create a project that trains an agent (npm create @trinity-rft)')
    .option('-t, --template <name>', 'one of those that --list shows', 'openai')
    .option('--list', 'show the templates')
    .action(
      exitWith(async (folder: string | undefined, given: InitArguments, command: Command) => {
        const { createProject, templates } = await import('@trinity-rft/create');
        if (given.list === true) {
          refuseUnused(command, 'with --list', '--template');
          if (folder !== undefined)
            throw invalid(`--list creates nothing, so ${folder} has no effect. Leave it out.`);
          const rows = templates.map(({ name, description }) => [name, description]);
          for (const line of alignColumns(rows)) write(`${line}\n`);
          return exitCodes.done;
        }
        const { template } = given;
        const created = await createProject({ folder: folder ?? 'my-agent', template });
        const next = created.next.map((line) => `  ${line}\n`).join('');
        write(`Created ${created.folder} from the template ${template}. Next:\n\n${next}\n`);
        return exitCodes.done;
      }),
    );
