// Writes the table of docs/guides/diagnosis.md from the rules of packages/inspect: `pnpm docs:diagnosis`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rules } from '../packages/inspect/src/diagnosis/index.ts';

const file = join(import.meta.dirname, '../docs/guides/diagnosis.md');
const mark = '<!-- From here on written by `pnpm docs:diagnosis`. -->';

/** Renders the page with a new generated part. The part before the mark is written by hand. */
export function renderDiagnosisDocs(page: string): string {
  const intro = page.slice(0, page.indexOf(mark) + mark.length);
  const sections = rules.map(({ name, title, when, advice }) =>
    [
      `### ${name}`,
      '',
      `**${title}.**`,
      '',
      `- Rule: ${textOf(when)}.`,
      `- Change: ${textOf(advice)}`,
      '',
    ].join('\n'),
  );
  return `${intro}\n\n## The ${rules.length} rules\n\n${sections.join('\n')}`;
}

/** Formats metric names with a slash and keys with an underscore as code. */
const textOf = (text: string): string =>
  text.replaceAll(
    /(?<![\w`/])(?:[a-z_]+\/[\w{},/*]+|(?:[a-z]+\.)?[a-z]+_[a-z_]+)(?![\w`])/g,
    '`$&`',
  );

if (process.argv[1] === import.meta.filename)
  writeFileSync(file, renderDiagnosisDocs(readFileSync(file, 'utf8')));
