// Writes docs/reference/algorithms.md from the tables of packages/algorithm: `pnpm docs:algorithms`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtInTables } from '../packages/algorithm/src/index.ts';
import {
  algorithmReference,
  type ArgReference,
  type ChosenPart,
  type PartKey,
  type PartReference,
  type PresetReference,
} from '../packages/config/src/reference/algorithms.ts';
import { markdownTable } from './markdown-table.ts';

const file = join(import.meta.dirname, '../docs/reference/algorithms.md');
const mark = '<!-- From here on written by `pnpm docs:algorithms`. -->';

/** Renders the page with a new generated part. The part before the mark is written by hand. */
export function renderAlgorithmDocs(page: string): string {
  const intro = page.slice(0, page.indexOf(mark) + mark.length);
  const { presets, parts } = algorithmReference(builtInTables);
  return [
    intro,
    '',
    '## The algorithms',
    '',
    ...presetTable(presets),
    ...presets.flatMap(presetSection),
    ...partSections(parts),
    '## Paper index',
    '',
    ...paperIndex(presets, parts),
  ].join('\n');
}

const code = (text: string): string => `\`${text}\``;
const list = (names: readonly string[]): string => names.map(code).join(', ');

const schemas = {
  experience: 'rollouts',
  sft: 'answers to imitate',
  cpt: 'plain texts',
  dpo: 'pairs of a better and a worse answer',
} as const;

function presetTable(presets: readonly PresetReference[]): readonly string[] {
  const head = [
    '`algorithm_type`',
    '`repeat_times`',
    '`advantage_fn`',
    '`policy_loss_fn`',
    '`kl_loss_fn`',
    '`entropy_loss_fn`',
    'Needs',
  ];
  const rows = presets.map(
    ({ name, schema, repeatTimes, advantageFn, policyLossFn, klLossFn, entropyLossFn, needs }) => [
      `[${code(name)}](#${name})`,
      schema === 'experience' ? String(repeatTimes) : '',
      advantageFn === undefined ? '' : code(advantageFn.name),
      ...[policyLossFn, klLossFn, entropyLossFn].map((part) => code(part.name)),
      needs.filter((need) => need !== 'entropy').join(', '),
    ],
  );
  return markdownTable(head, rows);
}

function presetSection(preset: PresetReference): readonly string[] {
  const { name, summary, formula, source, needs, schema } = preset;
  const facts = [
    `Learns from ${schemas[schema]}.`,
    ...(needs.length === 0 ? [] : [`Needs: ${needs.join(', ')}.`]),
    `Settings: ${inline(preset).join(', ')}.`,
    ...(source === undefined ? [] : [`Paper: [${source.title}](${source.url}).`]),
  ];
  return [
    `### ${name}`,
    '',
    summary,
    '',
    ...block(formula),
    ...facts.map((fact) => `- ${fact}`),
    '',
  ];
}

const partsOf = (preset: PresetReference): readonly (readonly [string, ChosenPart])[] =>
  (
    [
      ['advantage_fn', preset.advantageFn],
      ['policy_loss_fn', preset.policyLossFn],
      ['kl_loss_fn', preset.klLossFn],
      ['kl_penalty_fn', preset.klPenaltyFn],
      ['entropy_loss_fn', preset.entropyLossFn],
      ['sample_strategy', preset.sampleStrategy],
    ] as const
  ).flatMap(([key, part]) => (part === undefined ? [] : [[key, part] as const]));

/** The settings of a preset on one line, with links to its parts. */
const inline = (preset: PresetReference): readonly string[] => [
  ...(preset.schema === 'experience' ? [code(`repeat_times: ${preset.repeatTimes}`)] : []),
  ...partsOf(preset).map(
    ([key, part]) => `[${code(`${key}: ${withArgs(part)}`)}](#${anchorOf(key, part.name)})`,
  ),
  code(`loss_agg_mode: ${preset.lossAggMode}`),
  ...(preset.lossAggNorm === undefined ? [] : [code(`loss_agg_norm: ${preset.lossAggNorm}`)]),
  ...preset.operators.map(
    (part) => `operator [${code(withArgs(part))}](#${anchorOf('name', part.name)})`,
  ),
];

/** Anchor that GitHub makes from the heading of a part. */
const anchorOf = (key: string, name: string): string =>
  `${key === 'kl_penalty_fn' ? 'kl_loss_fn' : key}-${name}`;

const withArgs = (part: ChosenPart): string =>
  hasArgs(part) ? `${part.name} ${flow(part.args)}` : part.name;

const block = (formula: string): readonly string[] =>
  formula === '' ? [] : ['```text', formula, '```', ''];

/** YAML lines that make up a preset, if they differ from the defaults of its parts. */
function settings(preset: PresetReference): readonly string[] {
  const shown = partsOf(preset).flatMap(([key, part]) =>
    hasArgs(part) ? [`${key}: ${part.name}`, `${key}_args: ${flow(part.args)}`] : [],
  );
  const { operators, lossAggMode, lossAggNorm } = preset;
  return [
    'algorithm:',
    `  algorithm_type: ${preset.name}`,
    ...(preset.schema === 'experience' ? [`  repeat_times: ${preset.repeatTimes}`] : []),
    ...shown.map((line) => `  ${line}`),
    ...(lossAggMode === 'token-mean' ? [] : [`  loss_agg_mode: ${lossAggMode}`]),
    ...(lossAggNorm === undefined ? [] : [`  loss_agg_norm: ${lossAggNorm}`]),
    ...(operators.length === 0
      ? []
      : [
          'data_processor:',
          '  experience_pipeline:',
          '    operators:',
          ...operators.map(operatorLine),
        ]),
  ];
}

const flow = (args: ChosenPart['args']): string =>
  `{ ${Object.entries(args)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')} }`;

const hasArgs = ({ args }: ChosenPart): boolean => Object.keys(args).length > 0;

const operatorLine = (part: ChosenPart): string =>
  `      - { name: ${part.name}${hasArgs(part) ? `, args: ${flow(part.args)}` : ''} }`;

const titles: readonly (readonly [PartKey, string, string])[] = [
  [
    'advantage_fn',
    'Advantage functions',
    'How rewards become advantages: `algorithm.advantage_fn`, with `advantage_fn_args`.',
  ],
  [
    'policy_loss_fn',
    'Policy losses',
    'What is minimised: `algorithm.policy_loss_fn`, with `policy_loss_fn_args`.',
  ],
  [
    'kl_loss_fn',
    'KL estimators',
    '`algorithm.kl_loss_fn` adds `kl_coef` times the aggregate of the estimate to the loss; `algorithm.kl_penalty_fn` takes `kl_coef` times the estimate, with the old log-probabilities in place of the current ones, off the reward of each token.',
  ],
  ['entropy_loss_fn', 'Entropy terms', '`algorithm.entropy_loss_fn`, with `entropy_loss_fn_args`.'],
  [
    'sample_strategy',
    'Sample strategies',
    'How the trainer takes experiences from the buffer: `algorithm.sample_strategy`, with `sample_strategy_args`.',
  ],
  [
    'operator',
    'Operators of experiences',
    'Items of `data_processor.experience_pipeline.operators`, `{ name, args }`. They see one explore step before its advantages are computed. A list in the file replaces the one of the algorithm.',
  ],
];

function partSections(parts: readonly PartReference[]): readonly string[] {
  return titles.flatMap(([key, title, intro]) => [
    `## ${title}`,
    '',
    intro,
    '',
    ...parts.filter((part) => part.key === key).flatMap(partSection),
  ]);
}

function partSection({
  key,
  name,
  summary,
  formula,
  source,
  args,
  needs,
}: PartReference): readonly string[] {
  const facts = [
    ...(needs.length === 0 ? [] : [`Needs: ${needs.join(', ')}.`]),
    ...(source === undefined ? [] : [`Source: [${source.title}](${source.url}).`]),
  ];
  return [
    `### ${code(`${key === 'operator' ? 'name' : key}: ${name}`)}`,
    '',
    summary,
    '',
    ...block(formula),
    ...(facts.length === 0 ? [] : [facts.join(' '), '']),
    ...(args.length === 0
      ? []
      : markdownTable(['Argument', 'Type', 'Default', 'Meaning'], args.map(argRow))),
  ];
}

const argRow = ({ name, type, default: value, help }: ArgReference): readonly string[] => [
  code(name),
  type,
  value === null ? '' : code(typeof value === 'string' ? value : JSON.stringify(value)),
  help,
];

interface Cited {
  readonly title: string;
  readonly presets: readonly PresetReference[];
  readonly parts: readonly PartReference[];
}

/** Each paper, with the algorithms that implement it and the parts that come from it. */
function paperIndex(
  presets: readonly PresetReference[],
  parts: readonly PartReference[],
): readonly string[] {
  const urls = [...new Set([...presets, ...parts].flatMap(({ source }) => source?.url ?? []))];
  const cited = urls.map((url): readonly [string, Cited] => {
    const from = ({ source }: PresetReference | PartReference): boolean => source?.url === url;
    const own = { presets: presets.filter(from), parts: parts.filter(from) };
    const titlesOf = [...own.presets, ...own.parts].flatMap(({ source }) => source?.title ?? []);
    return [url, { ...own, title: titlesOf.toSorted((a, b) => b.length - a.length)[0] ?? url }];
  });
  const byTitle = cited.toSorted(([, a], [, b]) => a.title.localeCompare(b.title, 'en'));
  return byTitle.flatMap(([url, { title, presets: own, parts: used }]) => [
    `### [${title}](${url})`,
    '',
    ...own.flatMap((preset) => [
      `${preset.summary}`,
      '',
      '```text',
      ...settings(preset),
      '```',
      '',
    ]),
    ...(used.length === 0
      ? []
      : [`Parts: ${list([...new Set(used.map((part) => `${part.key}: ${part.name}`))])}.`, '']),
  ]);
}

if (process.argv[1] === import.meta.filename)
  writeFileSync(file, renderAlgorithmDocs(readFileSync(file, 'utf8')));
