/** `trinity report`: explains whether a run learned, why, and what to do next. */
import { jsonText, type AddCommand } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { pluginsOf, withPlugins, type PluginOptions } from '../shared/options.js';
import { writeOutput } from '../shared/output-file.js';

interface ReportArguments extends PluginOptions {
  readonly html?: string;
  readonly json?: boolean;
}

export const addReport: AddCommand = (program, { exitWith, write }) =>
  void withPlugins(program.command('report <run>'))
    .description('the story of a run: did it learn, why, what did it take, what to do next')
    .option('--html <file>', 'write it as one HTML file, which needs no network and no script')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\n<run> is a configuration, or the folder of a run, which may still be running. The file\ncontains answers of evaluations and paths of this machine.',
    )
    .action(
      exitWith(async (run: string, given: ReportArguments) => {
        const { readStory, renderStory, renderStoryPage } = await import('@trinity-rft/inspect');
        const story = await readStory(run, pluginsOf(given));
        const { html, json = false } = given;
        if (html !== undefined) await writeOutput('--html', html, renderStoryPage(story));
        write(json ? jsonText(story) : renderStory(story));
        if (html !== undefined && !json) write(`\nWritten: ${html}\n`);
        return exitCodes.done;
      }),
    );
