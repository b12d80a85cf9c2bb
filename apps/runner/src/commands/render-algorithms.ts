/** Renders the algorithms and their parts as text. */
import type {
  AlgorithmReference,
  ChosenPart,
  PartReference,
  PresetReference,
} from '@trinity-rft/config';
import { alignColumns } from '@trinity-rft/core/support';
import wrapAnsi from 'wrap-ansi';

/** Renders a row for each algorithm, then the names of the parts, grouped by key. */
export function renderTable({ presets, parts }: AlgorithmReference): string {
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
  const keys = [...Map.groupBy(parts, ({ key }) => key)].map(([key, members]) => ({
    key,
    names: members.map(({ name }) => name).join(', '),
  }));
  return [
    ...alignColumns([head, ...rows]),
    '',
    'Parts',
    ...keys.map(({ key, names }) => wrapped(`  ${key.padEnd(16)}`, names)),
    '',
  ]
    .map((line) => `${line}\n`)
    .join('')
    .concat('"trinity algorithms NAME" shows formula, arguments and source of one of them.\n');
}

export const renderInFull = ({ presets, parts }: AlgorithmReference): string =>
  [...presets.map(renderPreset), ...parts.map(renderPart)].join('\n');

const learnsFrom: Readonly<Record<PresetReference['schema'], string>> = {
  experience: 'rollouts',
  sft: 'answers to imitate',
  cpt: 'plain texts',
  dpo: 'pairs of a better and a worse answer',
};

function renderPreset(preset: PresetReference): string {
  const { schema, repeatTimes, operators } = preset;
  const facts: Readonly<Record<string, string | undefined>> = {
    'learns from': learnsFrom[schema],
    repeat_times: schema === 'experience' ? String(repeatTimes) : undefined,
    advantage_fn: preset.advantageFn && chosen(preset.advantageFn),
    policy_loss_fn: chosen(preset.policyLossFn),
    kl_loss_fn: chosen(preset.klLossFn),
    kl_penalty_fn: chosen(preset.klPenaltyFn),
    entropy_loss_fn: chosen(preset.entropyLossFn),
    sample_strategy: chosen(preset.sampleStrategy),
    loss_agg_mode: preset.lossAggMode,
    loss_agg_norm: preset.lossAggNorm === undefined ? undefined : String(preset.lossAggNorm),
    operators: operators.length === 0 ? undefined : operators.map(chosen).join(', '),
  };
  return [
    ...headOf(`algorithm_type: ${preset.name}`, preset),
    ...Object.entries(facts)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => `  ${key.padEnd(16)} ${value}`),
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
      : alignColumns([['  argument', 'type', 'default', 'meaning'], ...rows])),
    '',
  ].join('\n');
}

function headOf(
  title: string,
  { summary, formula, source, needs }: PresetReference | PartReference,
): readonly string[] {
  return [
    title,
    ...(summary === '' ? [] : [wrapped('  ', summary)]),
    ...(formula === '' ? [] : ['', wrapped('    ', formula)]),
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

const width = 120;

/**
 * Wraps `text` at {@link width} columns. The first line begins with `start`; the following lines
 * are indented by its length.
 */
const wrapped = (start: string, text: string): string =>
  start + wrapAnsi(text, width - start.length).replaceAll('\n', `\n${' '.repeat(start.length)}`);
