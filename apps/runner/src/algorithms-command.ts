/** `trinity algorithms [NAME]`: what configurations may name under `algorithm`, from the tables. */
import {
  algorithmReference,
  type AlgorithmReference,
  type ChosenPart,
  type PartReference,
  type PresetReference,
} from '@trinity-rft/config';
import { ConfigError, didYouMean } from '@trinity-rft/core';
import { loadVocabulary } from './config-commands.js';
import { exitCodes } from './exit-codes.js';

export interface AlgorithmsOptions {
  readonly pluginDir: readonly string[];
  readonly json?: boolean;
}

export async function algorithmsCommand(
  name: string | undefined,
  options: AlgorithmsOptions,
  write: (text: string) => void,
): Promise<number> {
  const { algorithms } = await loadVocabulary(options.pluginDir);
  const reference = algorithmReference(algorithms);
  const found = name === undefined ? reference : named(reference, name);
  if (options.json === true) write(`${JSON.stringify(found, null, 2)}\n`);
  else write(name === undefined ? renderAll(reference) : renderFound(found));
  return exitCodes.done;
}

/**
 * Presets and parts of one name: there is an algorithm grpo and an advantage function grpo.
 * @throws ConfigError when there is none
 */
function named({ presets, parts }: AlgorithmReference, name: string): AlgorithmReference {
  const is = (each: { readonly name: string }): boolean => each.name === name;
  const found = { presets: presets.filter(is), parts: parts.filter(is) };
  if (found.presets.length + found.parts.length > 0) return found;
  const known = [...presets, ...parts].map((each) => each.name);
  throw new ConfigError(
    `There is no algorithm and no part of one with the name "${name}".${didYouMean(name, known)} "trinity algorithms" shows all names.`,
    { code: 'NAME_UNKNOWN' },
  );
}

function renderAll({ presets, parts }: AlgorithmReference): string {
  const rows = presets.map((preset) => [
    preset.name,
    preset.schema === 'experience' ? String(preset.repeatTimes) : '-',
    preset.advantageFn?.name ?? '-',
    preset.policyLossFn.name,
    preset.klLossFn.name,
    preset.entropyLossFn.name,
    preset.needs.filter((need) => need !== 'entropy').join(', '),
  ]);
  const head = [
    'algorithm_type',
    'repeat_times',
    'advantage_fn',
    'policy_loss_fn',
    'kl_loss_fn',
    'entropy_loss_fn',
    'needs',
  ];
  const keys = [...Map.groupBy(parts, ({ key }) => key)].map(([key, of]) => [
    key,
    of.map((part) => part.name).join(', '),
  ]);
  return [
    ...columns([head, ...rows]),
    '',
    'Parts',
    ...keys.flatMap(([key = '', names = '']) => wrapped(`  ${key.padEnd(16)}`, names)),
    '',
  ]
    .map((line) => `${line}\n`)
    .join('')
    .concat('"trinity algorithms NAME" tells formula, arguments and source of one of them.\n');
}

const renderFound = ({ presets, parts }: AlgorithmReference): string =>
  [...presets.map(renderPreset), ...parts.map(renderPart)].join('\n');

function renderPreset(preset: PresetReference): string {
  const { schema, repeatTimes, operators } = preset;
  const lines: readonly (readonly [string, string])[] = [
    [
      'learns from',
      {
        experience: 'rollouts',
        sft: 'answers to imitate',
        dpo: 'pairs of a better and a worse answer',
      }[schema],
    ],
    ...(schema === 'experience' ? ([['repeat_times', String(repeatTimes)]] as const) : []),
    ...(preset.advantageFn ? ([['advantage_fn', chosen(preset.advantageFn)]] as const) : []),
    ['policy_loss_fn', chosen(preset.policyLossFn)],
    ['kl_loss_fn', chosen(preset.klLossFn)],
    ['kl_penalty_fn', chosen(preset.klPenaltyFn)],
    ['entropy_loss_fn', chosen(preset.entropyLossFn)],
    ['sample_strategy', chosen(preset.sampleStrategy)],
    ['loss_agg_mode', preset.lossAggMode],
    ...(preset.lossAggNorm === undefined
      ? []
      : ([['loss_agg_norm', String(preset.lossAggNorm)]] as const)),
    ...(operators.length === 0 ? [] : ([['operators', operators.map(chosen).join(', ')]] as const)),
  ];
  return [
    ...headOf(`algorithm_type: ${preset.name}`, preset),
    ...lines.map(([key, value]) => `  ${key.padEnd(16)} ${value}`),
    '',
  ].join('\n');
}

function renderPart(part: PartReference): string {
  const { args } = part;
  const rows = args.map(({ name, type, default: value, help }) => [
    `  ${name}`,
    type,
    value === null ? '-' : shown(value),
    help,
  ]);
  return [
    ...headOf(`${part.key}: ${part.name}`, part),
    ...(args.length === 0
      ? ['  It takes no arguments.']
      : columns([['  argument', 'type', 'default', 'meaning'], ...rows])),
    '',
  ].join('\n');
}

function headOf(
  title: string,
  { summary, formula, source, needs }: PresetReference | PartReference,
): readonly string[] {
  return [
    title,
    ...(summary === '' ? [] : wrapped('  ', summary)),
    ...(formula === '' ? [] : ['', ...wrapped('    ', formula)]),
    ...(source === undefined ? [] : ['', `  ${source.title}`, `  ${source.url}`]),
    ...(needs.length === 0 ? [] : ['', `  needs ${needs.join(', ')}`]),
    '',
  ];
}

const chosen = ({ name, args }: ChosenPart): string => {
  const given = Object.entries(args).map(([arg, value]) => `${arg}: ${shown(value)}`);
  return given.length === 0 ? name : `${name} {${given.join(', ')}}`;
};

const shown = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

/** Cells under each other, two spaces apart. */
function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

const width = 120;

/** Lines that begin with `start` or as much space. */
function wrapped(start: string, text: string): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && start.length + line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map(
    (each, index) => `${index === 0 ? start : ' '.repeat(start.length)}${each}`,
  );
}
