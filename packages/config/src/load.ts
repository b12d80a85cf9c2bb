/** Reads a configuration: parses, interpolates, checks and resolves it. */
import { readFile } from 'node:fs/promises';
import { builtInTables, type AlgorithmTables } from '@trinity-rft/algorithm';
import { ConfigError } from '@trinity-rft/core';
import { boundary, redactText } from '@trinity-rft/core/support';
import { renameKeys } from './check/rename.js';
import { checkStatus } from './check/status.js';
import { checkStructure } from './check/structure.js';
import {
  ignoredByAll,
  stageContext,
  type Findings,
  type StageContext,
  type StageSurroundings,
} from './resolve/base/context.js';
import { diskAt, tooManyFiles } from './resolve/base/disk.js';
import type { NameTables } from './resolve/base/names.js';
import type { ResolvedConfig } from './resolve/base/resolved.js';
import {
  changeStages,
  evaluatedStage,
  withOverridesInFirst,
  withoutBenchmarks,
} from './resolve/base/evaluated-stage.js';
import { stageTrees } from './resolve/base/stages.js';
import { deriveRun } from './resolve/run.js';
import type { EngineFactsTable } from './schema/engines.js';
import { defaultAt } from './schema/introspect.js';
import { schemasOf, type ConfigSchemas } from './schema/root.js';
import { statusesOf } from './schema/status.js';
import { decodeUtf8 } from './source/decode.js';
import { interpolate, type InterpolatedTree } from './source/interpolate.js';
import {
  fromPlain,
  merge,
  nodeAt,
  placeOf,
  showPath,
  toPlain,
  type KeyPath,
  type MapNode,
  isText,
  textsUnder,
  type TextNode,
} from './source/node.js';
import { parseTree } from './source/parse.js';
import {
  configError,
  nowhere,
  renderProblem,
  sortProblems,
  type ConfigProblem,
  type LocatedProblem,
} from './source/problem.js';
import { showValue, withoutSecrets } from './source/secrets.js';

export interface ParseConfigOptions extends NameTables {
  /** Name of the file in messages. @default "config.yaml" */
  readonly file?: string;
  /** Environment variables that `${oc.env:...}` reads. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Directory that relative paths start from. @default process.cwd() */
  readonly cwd?: string;
  /**
   * Suffix for the name of a new training run: 14 digits such as `20260701093000`. It is appended
   * if `continue_from_checkpoint` is false and a training run of the configured name already
   * exists.
   * @default undefined: no training run is started, and the newest one of this name is used
   */
  readonly timestamp?: string;
  /**
   * Name of the training run's folder, including a timestamp suffix if there is one. Intended for
   * processes that join a training run whose name another process has chosen.
   * @default a name derived from the configuration
   */
  readonly runName?: string | undefined;
  /**
   * Values that take precedence over those of the file, such as command-line options. Sections are
   * merged key by key. Problems with these values name `overridesName` instead of the file.
   */
  readonly overrides?: Readonly<Record<string, unknown>>;
  /** Name of the overrides in messages. @default "arguments" */
  readonly overridesName?: string;
  /** Engines that the file may choose, by name. The first engine is the default. */
  readonly engines: EngineFactsTable;
  /**
   * Algorithms and their parts, such as loss functions, that the file may name. @default the
   * built-in tables
   */
  readonly algorithms?: AlgorithmTables;
}

export interface LoadedConfig {
  readonly config: ResolvedConfig;
  /** Warnings in the order of the file. Each is one line with position and key. */
  readonly warnings: readonly string[];
  /** The same warnings as structured data. */
  readonly warningProblems: readonly ConfigProblem[];
  /** Path of the file as the caller gave it, for messages. */
  readonly file: string;
  /**
   * Creates a problem with the position of a key of a stage. Intended for checks that need more
   * than the configuration, such as the columns of data sets.
   */
  readonly problemAt: ProblemAt;
}

/**
 * Creates a problem with the position of a key in the file. `path` is the key's path relative to
 * the stage; a single `taskset` is named `tasksets[0]`.
 */
export type ProblemAt = (stageIndex: number, path: KeyPath, message: string) => ConfigProblem;

export interface LoadConfigOptions extends Omit<ParseConfigOptions, 'file'> {
  /** Text to parse instead of the content of the file, such as the text in an editor. */
  readonly text?: string;
}

/**
 * Reads a configuration file.
 * @throws ConfigError with every problem of the file
 */
export async function loadConfig(path: string, options: LoadConfigOptions): Promise<LoadedConfig> {
  if (options.text !== undefined) return parseConfig(options.text, { ...options, file: path });
  const bytes = await boundary(
    (cause) => unreadable(path, cause),
    () => readFile(diskAt(options.cwd ?? process.cwd()).resolve(path)),
  );
  const decoded = decodeUtf8(bytes);
  if (typeof decoded !== 'string') throw configError([locateProblem(path, decoded)]);
  return parseConfig(decoded, { ...options, file: path });
}

/** A module that the file names: a plugin, or `FILE#EXPORT` for a scorer. */
interface NamedModule {
  readonly name: string;
  /** Creates a problem with the position of the module's name in the file. */
  readonly problem: (message: string) => ConfigProblem;
}

/** Modules to load before the rest of the file can be checked. */
interface NamedModules {
  readonly plugins: readonly NamedModule[];
  readonly scorers: readonly NamedModule[];
}

/**
 * Reads the names of the plugins and scorers in a configuration file. Returns no names if the file
 * cannot be parsed, because {@link loadConfig} reports that problem.
 */
export async function readModuleNames(
  path: string,
  { env = process.env, cwd = process.cwd(), text }: Pick<LoadConfigOptions, 'env' | 'cwd' | 'text'>,
): Promise<NamedModules> {
  const decoded =
    text ?? (await readFile(diskAt(cwd).resolve(path)).then(decodeUtf8, () => undefined));
  const root = typeof decoded === 'string' ? parseTree(decoded).root : undefined;
  if (root === undefined) return { plugins: [], scorers: [] };
  // Plugins and engines add no keys, so any vocabulary has all defaults.
  const vocabulary = { algorithms: builtInTables, engines: {} };
  const interpolated = interpolate(root, {
    env,
    defaultAt: (key) => defaultAt(schemasOf(vocabulary).file, key),
  }).root;
  const named = ({ at, path: key, value }: TextNode): NamedModule => ({
    name: value,
    problem: (message) => locateProblem(path, { at, key, message }),
  });
  const plugins = nodeAt(interpolated, ['plugins']);
  return {
    plugins: (plugins?.kind === 'list' ? plugins.items : []).filter(isText).map(named),
    scorers: textsUnder(interpolated, rewardKeys)
      .filter(({ value }) => isScorerName(value))
      .map(named),
  };
}

const rewardKeys: ReadonlySet<string> = new Set(['default_reward_fn_type', 'default_reward_fn']);
/**
 * Returns true for a name of the form `FILE#EXPORT`. It refers to a scorer that a module exports,
 * and may be used in place of the name of a registered reward function.
 */
export const isScorerName = (name: string): boolean => /\.[cm]?[jt]s#\w+$/.test(name);

/**
 * Parses and resolves the text of a configuration file, like {@link loadConfig}. Reads other files
 * only if the text names them or if they are in the training run's folder.
 */
export function parseConfig(text: string, options: ParseConfigOptions): LoadedConfig {
  const { file = 'config.yaml', algorithms = builtInTables, engines } = options;
  const schemas = schemasOf({ algorithms, engines });
  const parsed = parseTree(text);
  if (parsed.root === undefined)
    throw configError(parsed.problems.map((problem) => locateProblem(file, problem)));
  const evaluated = evaluatedStage(parsed.root, options.overrides);
  const {
    root: checked,
    secrets,
    findings,
  } = checkTree(
    withOverrides(parsed.root, options.overrides, evaluated),
    schemas,
    options.env ?? process.env,
  );
  findings.problems.push(...parsed.problems);
  const root = changeStages(checked, evaluated, (from) => withoutBenchmarks(from, checked));
  const stages = stageContexts(root, {
    findings,
    tables: algorithms,
    engines,
    schema: schemas.run,
    workflows: options.workflows,
    rewardFns: options.rewardFns,
    taskOperators: options.taskOperators,
    disk: diskAt(options.cwd ?? process.cwd()),
  });
  findings.problems.push(...modeConflicts(stages, options.overrides));
  const config = deriveRun(stages, options);
  const locate = (problem: LocatedProblem): ConfigProblem =>
    locateProblem(isInFile(problem) ? file : (options.overridesName ?? 'arguments'), {
      ...problem,
      message: withoutSecrets(problem.message, secrets),
    });
  if (findings.problems.length > 0) throw configError(findings.problems.map(locate));
  const warnings = [...findings.warnings, ...ignoredByAll(findings, stages.length)];
  const warningProblems = sortProblems(warnings.map(locate));
  const problemAt: ProblemAt = (stageIndex, path, message) => {
    const { at, keyAt, path: key, node } = placeOf((stages[stageIndex] ?? stages[0]).tree, path);
    return locate({ at: node === undefined ? keyAt : at, key, message });
  };
  return {
    config,
    warnings: warningProblems.map(renderProblem),
    warningProblems,
    file,
    problemAt,
  };
}

const isInFile = ({ at }: LocatedProblem): boolean => at.line !== nowhere.line;

/**
 * Resolves interpolations, renames old keys, and checks the result against the schema. Removes
 * invalid values, and lists their paths in `findings.failed`.
 */
function checkTree(
  file: MapNode,
  schemas: ConfigSchemas,
  env: NonNullable<ParseConfigOptions['env']>,
): Pick<InterpolatedTree, 'root' | 'secrets'> & { readonly findings: Findings } {
  const interpolated = interpolate(file, {
    env,
    defaultAt: (path) => defaultAt(schemas.file, path),
  });
  const renamed = renameKeys(interpolated.root);
  const checked = checkStructure(renamed.root, schemas.file);
  return {
    root: checked.root,
    secrets: interpolated.secrets,
    findings: {
      problems: [...interpolated.problems, ...renamed.problems, ...checked.problems],
      warnings: [...renamed.warnings],
      inherited: [],
      failed: [...interpolated.failed, ...checked.failed],
    },
  };
}

/** Merges the overrides into the file. Sections keep their positions in the file. */
function withOverrides(
  file: MapNode,
  overrides: ParseConfigOptions['overrides'],
  evaluated: number | undefined,
): MapNode {
  if (overrides === undefined) return file;
  const over = fromPlain(overrides, [], nowhere) as MapNode;
  if (file.entries.size === 0) return over;
  const base = changeStages(file, evaluated, (from) => withOverridesInFirst(from, over));
  return merge(base, over, 'base') as MapNode;
}

/**
 * Reports a mode in the overrides that differs from the mode of a stage, because the stage's own
 * mode takes precedence. Does not check the modes bench and serve, which use only the last stage.
 */
function modeConflicts(
  stages: readonly StageContext[],
  overrides: ParseConfigOptions['overrides'],
): readonly LocatedProblem[] {
  const mode = overrides?.['mode'];
  if (mode === undefined || mode === 'bench' || mode === 'serve') return [];
  return stages
    .filter(({ input, stageSets }) => stageSets('mode') && input.mode !== mode)
    .map(({ stageName, input }) => ({
      at: nowhere,
      key: ['mode'],
      message: `got ${showValue(mode)}, but stage ${stageName} sets mode ${input.mode}, which it keeps. Remove one of the two.`,
    }));
}

function stageContexts(
  root: MapNode,
  surroundings: StageSurroundings,
): readonly [StageContext, ...StageContext[]] {
  const { findings, schema } = surroundings;
  const [first, ...others] = stageTrees(root).map((stage) => {
    const input = schema.parse(toPlain(stage.tree));
    const status = checkStatus(stage.tree, input, schema, statusesOf(schema));
    findings.problems.push(...status.problems);
    findings.warnings.push(...status.warnings);
    return stageContext(stage, input, surroundings);
  });
  return [first as StageContext, ...others];
}

/** Adds the file to a problem, and removes from its message what looks like a secret. */
const locateProblem = (file: string, { at, key, message }: LocatedProblem): ConfigProblem => ({
  file,
  line: at.line,
  column: at.column,
  key: showPath(key),
  message: redactText(message),
});

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file. Check the path; relative paths start at the working directory.',
  EISDIR: 'this is a folder. Give a YAML file, for example the config.yaml inside it.',
  EACCES: 'there is no permission to read this file. Check its permissions.',
  ENOTDIR: 'a part of this path is a file, not a folder. Check the path.',
  ELOOP: 'this path is a symbolic link that leads back to itself. Check the link.',
  ENAMETOOLONG: 'this path is longer than the system allows. Check the path.',
  ERR_INVALID_ARG_VALUE: 'this path holds a NUL character. Remove it.',
  EMFILE: tooManyFiles,
  ENFILE: tooManyFiles,
};

function unreadable(path: string, cause: unknown): ConfigError {
  const code = (cause as { readonly code?: string } | null)?.code ?? '';
  const message = reasons[code] ?? `this file cannot be read (${code}).`;
  const problem: ConfigProblem = { file: path, line: 1, column: 1, key: '', message };
  return new ConfigError(renderProblem(problem), {
    code: 'CONFIG_UNREADABLE',
    details: { problems: [problem] },
    cause,
  });
}
