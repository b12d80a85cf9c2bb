// Writes the keys that are read under another name, and those that are not available, to the end of
// docs/reference/differences.md, from the schema and the registries: `pnpm docs:differences`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { otherNames } from '../apps/runner/src/shared/other-names.ts';
import { builtInTables } from '../packages/algorithm/src/index.ts';
import {
  keyAliases,
  keysInOtherSections,
  movedKeys,
} from '../packages/config/src/schema/aliases.ts';
import { unsupportedTaskOperators } from '../packages/config/src/schema/known-names.ts';
import { schemasOf } from '../packages/config/src/schema/root.ts';
import { statusesOf, type KeyStatus } from '../packages/config/src/schema/status.ts';
import { onnxEngine } from '../packages/engine-onnx/src/index.ts';
import { tinkerEngine } from '../packages/tinker/src/engine/index.ts';
import {
  otherRewards,
  otherWorkflows,
  type OtherNames,
} from '../packages/workflow/src/definition/other-names.ts';
import { alignedTable } from './markdown-table.ts';

const file = join(import.meta.dirname, '../docs/reference/differences.md');
const mark = '<!-- From here on written by `pnpm docs:differences`. -->';

type Row = readonly [name: string, instead: string];

/** Renders the page with new tables. The part before the mark is written by hand. */
export function renderDifferences(page: string): string {
  const intro = page.slice(0, page.indexOf(mark) + mark.length);
  return [
    intro,
    '',
    'Read under another name:',
    '',
    ...alignedTable(['Name', 'Read as'], readAs()),
    'Refused, with what to use instead:',
    '',
    ...alignedTable(['Name', 'Instead'], refused()),
  ].join('\n');
}

const code = (text: string): string => `\`${text}\``;
const shown = (path: readonly string[]): string => code(path.join('.').replaceAll('.*', '[]'));

function readAs(): readonly Row[] {
  const keys = keyAliases
    .filter(({ from, to }) => from !== to)
    .map(({ section, from, to }): Row => [shown([...section, from]), code(to)]);
  const moved = keysInOtherSections.map(({ from, to }): Row => [shown(from), shown(to)]);
  const names = [otherWorkflows, otherRewards].flatMap(({ aliases }) => Object.entries(aliases));
  return [
    ...keys,
    ...moved,
    ...names.map(([name, as]): Row => [code(name), code(as)]),
    [
      'classes of `trinity.` and `examples.`, as `trinity.common.workflows.workflow.MathWorkflow`',
      'the workflow or reward function of that name: `math_workflow`',
    ],
  ];
}

const { run } = schemasOf({
  algorithms: builtInTables,
  engines: { onnx: onnxEngine, tinker: tinkerEngine },
});

function refused(): readonly Row[] {
  const keys = statusesOf(run)
    .filter(({ status, path }) => status === 'notSupported' && !path.includes('eval_tasksets'))
    .map((row): Row => [nameOf(row), row.note]);
  const namesOf = (kind: string, { refused: names }: OtherNames): readonly Row[] =>
    Object.entries(names).map(([name, note]): Row => [`${kind} ${code(name)}`, note]);
  return [
    ...keys,
    ...Object.entries(movedKeys).map(([key, note]): Row => [code(key), note]),
    ...namesOf('workflow', otherWorkflows),
    ...namesOf('reward function', otherRewards),
    ...namesOf('task operator', { aliases: {}, refused: unsupportedTaskOperators }),
    ...Object.entries(otherNames).map(([name, note]): Row => [commandLine(name), note]),
  ];
}

/**
 * Name of a command that is not formatted as a command line, because documents may only show command
 * lines that exist.
 */
function commandLine(name: string): string {
  const [command = '', option] = name.split(' ');
  return option === undefined
    ? `command ${code(command)}`
    : `command ${code(command)}, option ${code(option)}`;
}

/** Name of a key, with the refused values if only some values are refused. */
function nameOf({ path, values, except }: KeyStatus): string {
  const key = shown(path.split('.'));
  if (values !== undefined)
    return `${key}: ${values.map((value) => code(String(value))).join(', ')}`;
  const words =
    except?.filter((value) => typeof value === 'string' || typeof value === 'number') ?? [];
  return words.length === 0
    ? key
    : `${key} other than ${words.map((value) => code(`${value}`)).join(', ')}`;
}

if (process.argv[1] === import.meta.filename)
  writeFileSync(file, renderDifferences(readFileSync(file, 'utf8')));
