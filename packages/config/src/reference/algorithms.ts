/**
 * Reference of the algorithms for documents and terminals: the algorithm tables as plain data with
 * YAML names.
 */
import {
  createAlgorithm,
  type AlgorithmPreset,
  type AlgorithmTables,
  type PartDoc,
  type PartRef,
} from '@trinity-rft/algorithm';
import { ConfigError, type AlgorithmNeeds, type Arg, type ArgSpec } from '@trinity-rft/core';
import { toYaml, yamlName } from '../schema/args.js';

export interface ArgReference {
  /** Name in YAML. */
  readonly name: string;
  /** Type as text, such as `number >= 0` or `group, batch`. */
  readonly type: string;
  /** Default value; null if there is none. */
  readonly default: unknown;
  readonly help: string;
}

/** YAML key that selects a part. */
export type PartKey =
  | 'advantage_fn'
  | 'policy_loss_fn'
  | 'kl_loss_fn'
  | 'entropy_loss_fn'
  | 'sample_strategy'
  | 'operator';

export interface PartReference extends PartDoc {
  readonly key: PartKey;
  readonly name: string;
  readonly args: readonly ArgReference[];
  /**
   * Inputs that the part needs in addition to log-probabilities, rewards and masks, such as
   * `critic`.
   */
  readonly needs: readonly string[];
}

/**
 * A part that a preset selects. `args` contains the arguments that differ from the part's defaults,
 * under their YAML names.
 */
export interface ChosenPart {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface PresetReference extends PartDoc {
  readonly name: string;
  readonly schema: AlgorithmPreset['schema'];
  readonly repeatTimes: number;
  /**
   * Advantage function; undefined if the algorithm uses no rewards, and therefore no advantages.
   */
  readonly advantageFn: ChosenPart | undefined;
  readonly policyLossFn: ChosenPart;
  readonly klLossFn: ChosenPart;
  readonly klPenaltyFn: ChosenPart;
  readonly entropyLossFn: ChosenPart;
  readonly sampleStrategy: ChosenPart;
  readonly lossAggMode: string;
  readonly lossAggNorm: number | string | undefined;
  readonly operators: readonly ChosenPart[];
  readonly needs: readonly string[];
}

export interface AlgorithmReference {
  readonly presets: readonly PresetReference[];
  readonly parts: readonly PartReference[];
}

/** Returns the reference of all algorithms and parts, in the order of the tables. */
export function algorithmReference(tables: AlgorithmTables): AlgorithmReference {
  const { advantageFns, policyLossFns, klFns, entropyLossFns, sampleStrategies, operators } =
    tables;
  const parts = <Row extends { readonly args: ArgSpec; readonly doc: PartDoc }>(
    key: PartKey,
    table: Readonly<Record<string, Row>>,
    needs: (row: Row) => Partial<AlgorithmNeeds> | undefined = () => undefined,
  ): readonly PartReference[] =>
    Object.entries(table).map(([name, row]) => ({
      key,
      name,
      ...row.doc,
      args: Object.entries(row.args).map(([arg, spec]) => argReference(arg, spec)),
      needs: words(ifBuilt(() => needs(row)) ?? {}),
    }));
  return {
    presets: Object.entries(tables.presets).map(([name, preset]) =>
      presetReference(name, preset, tables),
    ),
    parts: [
      ...parts('advantage_fn', advantageFns, (row) => row.make('', {}, 0).needs),
      ...parts('policy_loss_fn', policyLossFns, (row) => row.make('', {}).needs),
      ...parts('kl_loss_fn', klFns, (row) => row.make('', {})?.needs),
      ...parts('entropy_loss_fn', entropyLossFns, (row) => row.make('', {})?.needs),
      ...parts('sample_strategy', sampleStrategies),
      ...parts('operator', operators),
    ],
  };
}

function presetReference(
  name: string,
  preset: AlgorithmPreset,
  tables: AlgorithmTables,
): PresetReference {
  return {
    name,
    ...preset.doc,
    schema: preset.schema,
    repeatTimes: preset.repeatTimes,
    advantageFn: preset.advantageFn && chosen(preset.advantageFn),
    policyLossFn: chosen(preset.policyLossFn),
    klLossFn: chosen(preset.klLossFn),
    klPenaltyFn: chosen(preset.klPenaltyFn ?? { name: 'none' }),
    entropyLossFn: chosen(preset.entropyLossFn),
    sampleStrategy: chosen(preset.sampleStrategy),
    lossAggMode: preset.lossAggMode,
    lossAggNorm: preset.lossAggNorm,
    operators: (preset.operators ?? []).map(chosen),
    needs: words(
      ifBuilt(() => createAlgorithm({ ...preset, lossAggNorm: undefined }, { tables }).needs) ?? {},
    ),
  };
}

const chosen = ({ name, args = {} }: PartRef): ChosenPart => ({ name, args: toYaml(args) });

/**
 * Returns the result of `build`, or undefined if the part cannot be created from its defaults
 * alone.
 */
function ifBuilt<T>(build: () => T): T | undefined {
  try {
    return build();
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/**
 * Words for needs in the reference, in the order in which they are listed. Omits rollouts, because
 * every explorer provides them.
 */
const needWords = {
  referenceLogprobs: 'reference model',
  valueHead: 'critic',
  teacherLogprobs: 'teacher',
  pairs: 'pairs of answers',
  expertMask: 'expert data',
} as const satisfies Partial<Record<keyof AlgorithmNeeds, string>>;

function words(needs: Partial<AlgorithmNeeds>): readonly string[] {
  const flags = (Object.keys(needWords) as (keyof typeof needWords)[]).filter(
    (need) => needs[need] === true,
  );
  const { entropy = 'none' } = needs;
  const words = entropy === 'gradient' ? 'gradient of the entropy' : 'entropy';
  return [...flags.map((need) => needWords[need]), ...(entropy === 'none' ? [] : [words])];
}

const signs = [
  ['min', '>='],
  ['above', '>'],
  ['max', '<='],
] as const;

const argReference = (name: string, arg: Arg<unknown>): ArgReference => ({
  name: yamlName(name),
  type: typeWords(arg.form) ?? arg.expected,
  default: arg.fallback ?? null,
  help: arg.help,
});

function typeWords(form: Arg<unknown>['form']): string | undefined {
  if (form?.type === 'number') {
    const bounds = signs.flatMap(([bound, sign]) =>
      form[bound] === undefined ? [] : [`${sign} ${form[bound]}`],
    );
    const number = ['number', bounds.join(', ')].join(' ').trim();
    return form.word === undefined ? number : `${number}, or ${form.word}`;
  }
  if (form?.type === 'choice') return form.words.join(', ');
  return form === undefined || form.type === 'list' ? undefined : form.type;
}
