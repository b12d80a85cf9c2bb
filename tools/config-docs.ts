// Writes the tables of docs/reference/config.md from the schema and the status table of packages/config:
// `pnpm docs:config`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtInTables } from '../packages/algorithm/src/index.ts';
import {
  choicesOf,
  coreOf,
  defaultAt,
  expectedText,
  keysOf,
  schemaAt,
} from '../packages/config/src/schema/introspect.ts';
import { filledInText } from '../packages/config/src/schema/fields.ts';
import { keyAliases } from '../packages/config/src/schema/aliases.ts';
import { schemasOf } from '../packages/config/src/schema/root.ts';
import { statusesOf as statusesIn, type KeyStatus } from '../packages/config/src/schema/status.ts';
import { onnxEngine } from '../packages/engine-onnx/src/index.ts';
import { tinkerEngine } from '../packages/tinker/src/engine/index.ts';
import { markdownTable } from './markdown-table.ts';

const { run: runSchema } = schemasOf({
  algorithms: builtInTables,
  engines: { onnx: onnxEngine, tinker: tinkerEngine },
});
const keyStatuses = statusesIn(runSchema);

type Schema = NonNullable<ReturnType<typeof schemaAt>>;
/** Keys from the top level; `*` stands for any item of a list. */
type Path = readonly string[];

const file = join(import.meta.dirname, '../docs/reference/config.md');
const mark = '<!-- From here on written by `pnpm docs:config`. -->';

/** Sections with equal keys, which are documented once. */
const alike: Readonly<Record<string, string>> = {
  'buffer.explorer_input.taskset': 'buffer.explorer_input.tasksets.*',
  'buffer.explorer_input.eval_tasksets.*': 'buffer.explorer_input.tasksets.*',
  'buffer.trainer_input.experience_buffer.format': 'buffer.explorer_input.tasksets.*.format',
  'buffer.trainer_input.experience_buffer.data_selector':
    'buffer.explorer_input.tasksets.*.data_selector',
};

/** Renders the page with new tables. The part before the mark is written by hand. */
export function renderConfigDocs(page: string): string {
  const intro = page.slice(0, page.indexOf(mark) + mark.length);
  return [intro, '', ...sectionsBelow([])].join('\n');
}

const inSchema = (path: Path): (string | number)[] => path.map((part) => (part === '*' ? 0 : part));
const at = (path: Path): Schema => schemaAt(runSchema, inSchema(path))!;
const show = (path: Path): string => code(path.join('.').replaceAll('.*', '[]'));
const code = (text: string): string => `\`${text}\``;
const filledIn = filledInText;

const statusesOf = (path: Path): readonly KeyStatus[] =>
  keyStatuses.filter((row) => row.path === path.join('.'));
/** True for a status that concerns only some values, so that the key itself is usable. */
const isPartial = ({ values, except }: KeyStatus): boolean =>
  values !== undefined || (except?.some((value) => typeof value === 'string') ?? false);

/** Path of the keys of a section: its own path, or that of its list items; undefined for values. */
function sectionPath(path: Path): Path | undefined {
  const item = [...path, '*'];
  if (keysOf(at(path)).length > 0) return path;
  return coreOf(at(path)).def.type === 'array' && keysOf(at(item)).length > 0 ? item : undefined;
}

/**
 * Status of a key. A section has the status of its first key if that is `enable` or `ratio`. A status for one kind of
 * task set only does not count.
 */
function wholeStatus(path: Path): KeyStatus | undefined {
  const twin = path.map((part) => (part === 'tasksets' ? 'eval_tasksets' : part));
  const own = statusesOf(path).find((row) => !isPartial(row) && statusesOf(twin).length > 0);
  const section = sectionPath(path);
  if (own !== undefined || section === undefined) return own;
  const [first = ''] = keysOf(at(section));
  return ['enable', 'ratio'].includes(first) ? statusesOf([...section, first])[0] : undefined;
}

const twinOf = (path: Path | undefined): string | undefined => path && alike[path.join('.')];

function sectionsBelow(path: Path): readonly string[] {
  const keys = keysOf(at(path)).map((key) => [...path, key]);
  const open = keys.filter(
    (key) => wholeStatus(key) === undefined && at(key).description !== filledIn,
  );
  const sections = open
    .flatMap((key) => [sectionPath(key) ?? []])
    .filter((section) => section.length > 0 && twinOf(section) === undefined);
  const values = open.filter(
    (key) => sectionPath(key) === undefined || twinOf(sectionPath(key)) !== undefined,
  );
  const body = [...table(values), ...closed(keys)];
  const head =
    path.length === 0 ? ['## Top level', ''] : [`## ${show(path)}`, '', introOf(path), ''];
  return [...(body.length === 0 ? [] : [...head, ...body]), ...sections.flatMap(sectionsBelow)];
}

const introOf = (path: Path): string =>
  at(path).description ?? 'Each item of `tasksets` and `eval_tasksets`, and the one of `taskset`.';

function table(keys: readonly Path[]): readonly string[] {
  if (keys.length === 0) return [];
  const rows = keys.map((path) => [
    code(path.at(-1)!),
    typeOf(path),
    defaultText(path),
    meaningOf(path),
    statusText(path),
  ]);
  return markdownTable(['Key', 'Type', 'Default', 'Meaning', 'Status'], rows);
}

const numberWords = [
  ['a whole number', 'integer'],
  ['a number', 'number'],
  [' and ', ', '],
  ['at least ', '>= '],
  ['at most ', '<= '],
  ['above ', '> '],
  ['below ', '< '],
] as const;

/** Values that the key accepts, without those that are not supported. */
function typeWords(schema: Schema, excluded: readonly unknown[]): string {
  const choices = choicesOf(schema).filter((choice) => !excluded.includes(choice));
  if (choices.length > 0) return choices.map(code).join(', ');
  const words = expectedText(schema);
  if (/^a (?:whole )?number/.test(words))
    return numberWords.reduce(
      (text, [from, to]) => text.replaceAll(from, to),
      words.replace(', ', ' '),
    );
  const { element } = coreOf(schema).def as { readonly element?: Schema };
  return element === undefined
    ? (shortWords[words] ?? words)
    : `list of ${typeWords(element, excluded)}`;
}

const shortWords: Readonly<Record<string, string>> = {
  'true or false': 'boolean',
  'text that is not empty': 'text',
  'a section of keys of your own': 'map',
  'a list of two numbers from 0 to below 1': 'two numbers >= 0, < 1',
};

const rowsOf = (path: Path): readonly KeyStatus[] => [
  ...statusesOf(path),
  ...statusesOf([...path, '*']),
];
const valuesOf = (path: Path): readonly unknown[] =>
  rowsOf(path).flatMap(({ values = [] }) => values);

function typeOf(path: Path): string {
  const twin = twinOf(sectionPath(path));
  return twin === undefined ? typeWords(at(path), valuesOf(path)) : `as ${show(twin.split('.'))}`;
}

function defaultText(path: Path): string {
  const value = sectionPath(path) ? null : defaultAt(runSchema, inSchema(path))?.value;
  return valuesOf(path).includes(value) ? 'none' : valueText(value);
}

const valueText = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'null';
  return ['null', '""', '{}', '[]'].includes(text)
    ? ''
    : code(typeof value === 'string' ? value : text);
};

const sectionOf = (path: Path): string =>
  path
    .slice(0, -1)
    .filter((part) => part !== '*')
    .join('.');

function meaningOf(path: Path): string {
  const names = keyAliases.filter(
    ({ section, from, to }) =>
      from !== to && to === path.at(-1) && section.join('.') === sectionOf(path),
  );
  const also = names.length === 0 ? '' : ` Also ${names.map(({ from }) => code(from)).join(', ')}.`;
  return `${(at(path).description ?? '').replace(/^Extension[^.]*\. /, '')}${also}`;
}

function statusText(path: Path): string {
  const notSupported = rowsOf(path).flatMap(({ status, values = [] }) =>
    status === 'notSupported' ? values : [],
  );
  const list =
    notSupported.length > 6
      ? `${notSupported.length} other names`
      : notSupported.map((value) => code(String(value))).join(', ');
  const notes = rowsOf(path).filter(
    ({ status, values }) => status === 'ignored' || values === undefined,
  );
  return [
    ...((at(path).description ?? '').startsWith('Extension') ? ['extension'] : []),
    ...(notSupported.length === 0 ? [] : [`not supported: ${list}`]),
    ...notes.map(({ values, note }) =>
      values === undefined
        ? note
        : `${values.map((value) => code(String(value))).join(', ')}: warned. ${note}`,
    ),
  ].join('; ');
}

/** Lines about keys that a file cannot set or need not set. */
function closed(keys: readonly Path[]): readonly string[] {
  const noted = (status: KeyStatus['status']): string => {
    const closedKeys = keys.filter((key) => wholeStatus(key)?.status === status);
    const inside = keys.flatMap((key) =>
      sectionPath(key)
        ? []
        : keyStatuses.filter((row) => row.status === status && isInside(row.path, key)),
    );
    const all = [
      ...closedKeys.map((key) => [wholeStatus(key)!.note, key.at(-1)!] as const),
      ...inside.map(
        ({ note, path }) =>
          [
            note,
            path
              .split('.')
              .slice(keys[0]!.length - 1)
              .join('.'),
          ] as const,
      ),
    ];
    const byNote = Map.groupBy(all, ([note]) => note);
    return [...byNote]
      .map(
        ([note, rows]) =>
          `${rows.map(([, key]) => code(key)).join(', ')} (${note.replace(/\.$/, '')})`,
      )
      .join('; ');
  };
  const lines: readonly (readonly [string, string])[] = [
    ['Not supported', noted('notSupported')],
    ['Accepted with a warning, without effect', noted('ignored')],
    ['Filled in by the run', names(keys.filter((key) => at(key).description === filledIn))],
  ];
  return lines
    .filter(([, list]) => list !== '')
    .flatMap(([title, list]) => [`${title}: ${list}.`, '']);
}

/** True for paths inside of a free-form section. */
const isInside = (path: string, key: Path): boolean =>
  path.startsWith(`${key.join('.')}.`) && !path.endsWith('.*');

const names = (paths: readonly Path[]): string =>
  paths.map((path) => code(path.at(-1)!)).join(', ');

if (process.argv[1] === import.meta.filename)
  writeFileSync(file, renderConfigDocs(readFileSync(file, 'utf8')));
