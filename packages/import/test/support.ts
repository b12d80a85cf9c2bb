/** Imports into a folder that disappears after the test. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { importRows, type ImportOptions, type ImportReport } from '../src/index.js';

export type Row = Readonly<Record<string, unknown>>;

export interface Imported {
  readonly report: ImportReport;
  readonly rows: readonly Row[];
  readonly validation: readonly Row[];
  readonly output: string;
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-import-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function importFrom(
  from: string,
  options: Omit<ImportOptions, 'from' | 'output'> = {},
): Promise<Imported> {
  const output = path.join(temporaryFolder(), 'rows.jsonl');
  const report = await importRows({ ...options, from, output });
  const held = output.replace('.jsonl', '.validation.jsonl');
  return {
    report,
    output,
    rows: rowsOf(output),
    validation: existsSync(held) ? rowsOf(held) : [],
  };
}

/** Imports a file with one record per line; a text is used as the line itself. */
export function importLines(
  records: readonly unknown[],
  options: Omit<ImportOptions, 'from' | 'output'> = {},
): Promise<Imported> {
  const file = path.join(temporaryFolder(), 'records.jsonl');
  const lines = records.map((record) =>
    typeof record === 'string' ? record : JSON.stringify(record),
  );
  writeFileSync(file, lines.join('\n'));
  return importFrom(file, options);
}

export const rowsOf = (file: string): readonly Row[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);

/** One text per reason: `reason: line, line`. */
export const reasonsOf = ({ skipped }: ImportReport): readonly string[] =>
  skipped.map(({ reason, first }) => `${reason}: ${first.map(({ line }) => line).join(', ')}`);
