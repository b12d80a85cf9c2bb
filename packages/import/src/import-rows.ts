/** Imports a file or folder: reads its records, writes training rows, and returns a report. */
import { ConfigError, describeError } from '@trinity-rft/core';
import { assertKnownArgs } from '@trinity-rft/core/support';
import { findFiles, type DataFile } from './files/find-files.js';
import { readRecords } from './files/read-records.js';
import { createRowWriter, type RowWriter } from './files/write-rows.js';
import { asList, orFault } from './record/fault.js';
import type { Finished, Fragment } from './record/item.js';
import { skippedLines } from './report/render.js';
import { createTally, type ImportReport, type Place, type Tally } from './report/report.js';
import { tokenCounter } from './rows/count-tokens.js';
import {
  openRowWriting,
  validationFile,
  type RowOptions,
  type RowWriting,
} from './rows/row-writing.js';
import { chooseSource, describeSources } from './sources/choose.js';
import { createGroups, type Group, type Groups } from './sources/groups.js';
import { withMarks } from './sources/source.js';
import { sourceNamed, type SourceName } from './sources/table.js';

export interface ImportOptions extends RowOptions {
  /** File or folder to import. */
  readonly from: string;
  /**
   * Source (format) of the records.
   * @default detected from the first records of each file
   */
  readonly source?: SourceName;
  /**
   * Folder of the model whose tokenizer counts the tokens of rows.
   * @default undefined: the report has no token counts
   */
  readonly tokenizer?: string;
  /** File to write the report to, as JSON. @default no file */
  readonly report?: string;
  readonly signal?: AbortSignal;
  /** Called with a line of progress about every 100 MB. @default no callback */
  readonly onProgress?: (line: string) => void;
}

interface Import {
  readonly options: ImportOptions;
  readonly tally: Tally;
  readonly rows: RowWriting;
  readonly groups: Groups;
  readonly sources: Set<SourceName>;
  read: number;
}

/**
 * Imports rows as a stream, and returns a report. Memory holds a hash of each row, all of
 * Langfuse's generations, the newest 1,000 traces of other sources, and, if pairs are built from
 * scores, two responses per prompt. The output file appears only when it is complete.
 * @throws ConfigError with the reasons if nothing can be imported
 */
export async function importRows(options: ImportOptions): Promise<ImportReport> {
  const { from, output, report: reportFile, tokenizer, redact = false } = options;
  assertOptions(options);
  const { files, brokenLinks, outputs, others } = await findFiles(from, {
    '-o': output,
    'the validation file': validationFile(output),
    ...(reportFile !== undefined && { '--report': reportFile }),
  });
  const countTokens = tokenizer === undefined ? undefined : await tokenCounter(tokenizer);
  const tally = createTally(redact);
  for (const { path: file, cause } of brokenLinks)
    tally.skip({ reason: 'the link cannot be followed', detail: describeError(cause) }, { file });
  for (const file of others) tally.skip({ reason: unreadKind }, { file });
  for (const file of outputs) tally.skip({ reason: 'this import writes the file' }, { file });
  const rows = await openRowWriting(options, tally, countTokens);
  const groups = createGroups();
  const state: Import = { options, tally, rows, groups, sources: new Set(), read: 0 };
  let reportWriter: RowWriter | undefined;
  try {
    if (reportFile !== undefined) reportWriter = await createRowWriter('--report', reportFile);
    await readFiles(state, files);
    for (const group of state.groups.rest()) await assemble(state, group);
    const counts = await rows.finish();
    const { read } = state;
    const [skipped, sources] = [tally.skipped(), [...state.sources]];
    if (read === 0) throw emptyError(from);
    const reasons = skippedLines(skipped);
    if (sources.length === 0)
      throw skipped.some(({ reason }) => reason === unknown.reason)
        ? unknownError(from, reasons)
        : unreadableError(from, reasons);
    if (counts.written === 0) throw nothingError(from, sources, reasons);
    const facts = { ...counts, skipped, ...tally.facts() };
    const report = { version: 1, sources, files: files.length, read, ...facts } as const;
    await reportWriter?.write(JSON.stringify(report, null, 2));
    await reportWriter?.finish();
    return report;
  } finally {
    await reportWriter?.close();
    await rows.close();
  }
}

/**
 * @throws ConfigError for an unknown option, a share that is out of range, or a score for rows other
 * than pairs
 */
function assertOptions(options: ImportOptions): void {
  const names = 'from source as score output report validation redact tokenizer signal onProgress';
  assertKnownArgs('importRows()', options, names.split(' '));
  const { validation = 0, as, score } = options;
  if (score !== undefined && as !== 'dpo')
    throw new ConfigError(
      `--score ${score} needs --as dpo (importRows: as: 'dpo'), because scores only choose the answers of pairs.`,
      { code: 'ARGUMENT_INVALID' },
    );
  if (!(validation >= 0 && validation < 1))
    throw new ConfigError(
      `validation is ${validation}. Expected a share from 0 to below 1, such as 0.1.`,
      { code: 'ARGUMENT_INVALID' },
    );
}

async function readFiles(state: Import, files: readonly DataFile[]): Promise<void> {
  const { signal, onProgress } = state.options;
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const { path: file } of files) {
    const onBytes = (count: number): void => {
      const before = megabytes(done);
      done += count;
      if (Math.floor(megabytes(done) / 100) > Math.floor(before / 100))
        onProgress?.(
          `${file}: ${Math.floor(megabytes(done))} of ${Math.ceil(megabytes(total))} MB read, ${state.read} records`,
        );
    };
    await readFile(state, file, onBytes, signal);
  }
}

const unreadKind =
  'files of this kind are not read; unpack them, or convert them to JSON lines (Hugging Face: to_json)';

const unknown = { reason: 'no source recognises the file' };

const megabytes = (bytes: number): number => bytes / 1e6;

async function readFile(
  state: Import,
  file: string,
  onBytes: (count: number) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { tally, options } = state;
  const all = readRecords(file, onBytes);
  const { name = options.source, records } =
    options.source === undefined ? await chooseSource(all) : { records: all };
  if (name !== undefined) state.sources.add(name);
  for await (const { line, record, fault } of records) {
    signal?.throwIfAborted();
    state.read++;
    const place = { file, line };
    if (record === undefined) {
      tally.skip(fault ?? { reason: 'the record is empty' }, place);
      continue;
    }
    if (name === undefined) {
      tally.skip(unknown, place);
      return;
    }
    const items = orFault(() => sourceNamed(name).read(record));
    for (const item of asList(items))
      if ('group' in item) await addPart(state, name, item, place);
      else await addFinished(state, name, 'reason' in item ? item : withMarks(item, record), place);
  }
}

/**
 * Adds a part of a conversation to its group. If too many groups are open, the least recently
 * extended group is converted to rows.
 */
async function addPart(
  state: Import,
  source: SourceName,
  fragment: Fragment,
  place: Place,
): Promise<void> {
  const found = orFault(() => state.groups.add(source, fragment, place));
  if (found === undefined) return;
  if ('reason' in found) state.tally.skip(found, place);
  else await assemble(state, found);
}

async function addFinished(
  { tally, rows }: Import,
  source: SourceName,
  item: Finished,
  place: Place,
): Promise<void> {
  if ('reason' in item) tally.skip(item, place);
  else await rows.add(item, place, sourceNamed(source).hasReferences === true);
}

async function assemble(state: Import, { source, parts }: Group): Promise<void> {
  const kind = state.rows.kind();
  for (const { item, part } of sourceNamed(source).assemble?.([...parts.keys()], kind) ?? [])
    await addFinished(state, source, item, parts.get(part)!);
}

const emptyError = (from: string): ConfigError =>
  new ConfigError(`${from} holds no records. Name a file or folder with some.`, {
    code: 'IMPORT_NOTHING',
  });

const unreadableError = (from: string, reasons: readonly string[]): ConfigError =>
  new ConfigError([`${from}: no record can be read.`, ...reasons].join('\n'), {
    code: 'IMPORT_NOTHING',
  });

const unknownError = (from: string, reasons: readonly string[]): ConfigError =>
  new ConfigError(
    [
      `${from}: no source recognises the records. These were tried; name one with --from if its records look different:`,
      ...describeSources(),
      ...reasons,
    ].join('\n'),
    { code: 'IMPORT_UNKNOWN' },
  );

const nothingError = (
  from: string,
  sources: readonly string[],
  reasons: readonly string[],
): ConfigError =>
  new ConfigError(
    [`${from}: nothing could be imported as ${sources.join(', ')}.`, ...reasons].join('\n'),
    { code: 'IMPORT_NOTHING' },
  );
