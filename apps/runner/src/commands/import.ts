/** `trinity import`: writes training rows from traces, evaluations and files of other services. */
import type { ImportOptions } from '@trinity-rft/import';
import type { AddCommand, Write } from '../shared/command.js';
import { exitCodes } from '../shared/exit-codes.js';
import { stoppable } from '../shared/interrupt.js';
import { assertFileName } from '../shared/output-file.js';
import { invalid, oneOf } from '../shared/arguments.js';

interface ImportArguments {
  readonly from: string;
  readonly as?: string;
  readonly score?: string;
  readonly redact?: boolean;
  readonly tokenizer?: string;
  readonly validation?: string;
  readonly report?: string;
  readonly output?: string;
}

export const addImport: AddCommand = (program, { exitWith, write }) =>
  void program
    .command('import <place>')
    .description('write rows to train on from traces, evaluations or files of other services')
    .option(
      '--from <source>',
      'auto, openai, together, otel, langfuse, langsmith, braintrust, sharegpt, alpaca, promptfoo or plain',
      'auto',
    )
    .option('--as <kind>', 'sft, dpo or tasks; default: what the source holds')
    .option('--score <name>', 'score that makes pairs with --as dpo; default: the mean of all')
    .option('--redact', 'replace e-mail addresses, phone numbers, IP addresses, keys and the like')
    .option('--tokenizer <model>', 'model folder: report the lengths of rows in its tokens')
    .option('--validation <share>', 'share of the rows for FILE.validation.jsonl, such as 0.1')
    .option('--report <file>', 'write the report as JSON')
    .option('-o, --output <file>', 'JSON lines file to write')
    .addHelpText(
      'after',
      '\n<place> is a file (.jsonl, .ndjson, .json, .csv, .yaml, each also .gz) or a folder of such files.',
    )
    .action(
      exitWith((place: string, given: ImportArguments) => importCommand(place, given, write)),
    );

async function importCommand(place: string, given: ImportArguments, write: Write): Promise<number> {
  const { importRows, renderImport } = await import('@trinity-rft/import');
  const { standardTerminal } = await import('@trinity-rft/launcher');
  const options = await optionsOf(place, given);
  const terminal = standardTerminal();
  const onProgress = (line: string): void => terminal.write(`${line}\n`);
  const report = await stoppable(terminal, (signal) =>
    importRows({ ...options, signal, onProgress }),
  );
  if (report === undefined) return exitCodes.interrupted;
  write(renderImport(report));
  return exitCodes.done;
}

async function optionsOf(place: string, given: ImportArguments): Promise<ImportOptions> {
  const { rowKinds, sourceNames } = await import('@trinity-rft/import');
  const { from, as, score, validation, output, report, redact, tokenizer } = given;
  if (output === undefined) throw invalid('-o is missing. Name the file to write: -o FILE.jsonl');
  await assertFileName('-o', output);
  if (report !== undefined) await assertFileName('--report', report);
  return {
    from: place,
    score,
    output,
    report,
    redact,
    tokenizer,
    source: from === 'auto' ? undefined : oneOf('--from', from, sourceNames, ['auto']),
    as: as === undefined ? undefined : oneOf('--as', as, rowKinds),
    validation: validation === undefined ? undefined : shareOf(validation),
  };
}

function shareOf(text: string): number {
  const share = Number(text);
  if (text.trim() !== '' && share >= 0 && share < 1) return share;
  throw invalid(`--validation is "${text}"; expected a share from 0 to below 1, such as 0.1.`);
}
