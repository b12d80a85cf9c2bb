/**
 * Adds training to an existing project: dependencies, settings and a folder with files to start
 * from.
 */
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { parseDocument } from 'yaml';
import { copyParts, listFiles, makeEmptyFolder } from './create-project.js';
import { editManifest, partsOf, readManifest, type Manifest } from './manifest.js';
import {
  installCommand,
  packageManagerOf,
  quoted,
  runners,
  type Environment,
} from './next-steps.js';
import { findTemplate, packageFolder } from './templates.js';
import { isWorkspaceMember } from './workspace-patterns.js';

/**
 * Packages whose install scripts are disabled. The scripts only download files or print messages,
 * which training does not need.
 */
const denied = ['onnxruntime-node', 'protobufjs'];

/**
 * Dependencies by which a project's framework is recognised, each with the template for that
 * framework. More specific dependencies come first.
 */
const frameworks: readonly (readonly [dependency: string, template: string])[] = [
  ['@mastra/core', 'mastra'],
  ['@langchain/langgraph', 'langgraph'],
  ['langchain', 'langchain'],
  ['@langchain/core', 'langchain'],
  ['@openai/agents', 'openai-agents'],
  ['@agentscope-ai/agentscope', 'agentscope'],
  ['ai', 'ai-sdk'],
];

export interface AddToProjectOptions {
  /**
   * Name of an agent template.
   * @default the template for the framework that the project uses, or "openai" if none is
   * recognised
   */
  readonly template?: string;
  /** Folder of the project. @default the working directory */
  readonly cwd?: string;
  /**
   * Folder for the new files, relative to `cwd`. If the folder exists, it must be empty.
   * @default "trinity"
   */
  readonly folder?: string;
  /**
   * Environment variables used to detect the package manager and its version.
   * @default process.env
   */
  readonly env?: Environment;
}

export interface AddedToProject {
  readonly template: string;
  /** Paths of the files that were created or changed, sorted and relative to `cwd`. */
  readonly files: readonly string[];
  /**
   * One line for each dependency that the project already has in another version than the template.
   * These dependencies are not changed.
   */
  readonly kept: readonly string[];
  /** Commands that the user should run next, one per line. */
  readonly next: readonly string[];
}

/**
 * Adds training to a project. Does not overwrite files or install packages.
 * @throws ConfigError if there is no package.json, the template is unknown or creates a package of
 * its own, or the folder for the new files contains files
 */
export async function addToProject({
  template: wanted,
  cwd: named = process.cwd(),
  folder = 'trinity',
  env = process.env,
}: AddToProjectOptions = {}): Promise<AddedToProject> {
  const cwd = path.resolve(named);
  const file = path.join(cwd, 'package.json');
  if (!existsSync(file))
    throw new ConfigError(
      `There is no package.json in ${cwd}. Use --add in the folder of your project, or leave it out for a new project.`,
    );
  const manifest = readManifest(file);
  const { name: template, parts } = findTemplate(wanted ?? templateOf(manifest));
  if (!parts.includes('agent'))
    throw new ConfigError(
      `The template "${template}" is a package of its own. Create it in a new folder, without --add.`,
    );
  const target = path.resolve(cwd, folder);
  // Reads everything before the first file is written, so that a failed call can be repeated.
  const rootManifest = findUp(cwd, 'package.json', containing(cwd, manifestPatterns)) ?? file;
  const pnpmSettings = await pnpmSettingsOf(cwd, env);
  await makeEmptyFolder(target);
  const added = parts.filter((part) => part !== 'base');
  await copyParts(added, target, ['README.md', 'INSTALL.md', '.github', '_npmrc']);
  await copyFile(
    path.join(packageFolder, 'templates/base/_gitignore'),
    path.join(target, '.gitignore'),
  );
  const kept = await addDependencies(file, manifest, partsOf(added));
  await denyScripts(rootManifest, env);
  if (pnpmSettings) await writeFile(pnpmSettings.file, pnpmSettings.text);
  const created = (await listFiles(target)).map((each) => path.join(target, each));
  const run = runners[packageManagerOf(env)];
  return {
    template,
    files: [
      ...new Set([file, rootManifest, ...(pnpmSettings ? [pnpmSettings.file] : []), ...created]),
    ]
      .map((each) => path.relative(cwd, each))
      .toSorted(),
    kept,
    next: [
      ...tsconfigNote(cwd, folder),
      installCommand(env, false),
      `cd ${quoted(folder)}`,
      `${run} trinity config check train.yaml`,
      `${run} trinity run train.yaml`,
    ],
  };
}

/** Returns a line for a project with a tsconfig.json that does not name the new folder. */
function tsconfigNote(cwd: string, folder: string): readonly string[] {
  const file = path.join(cwd, 'tsconfig.json');
  const name = JSON.stringify(folder);
  return !existsSync(file) || readFileSync(file, 'utf8').includes(name)
    ? []
    : [
        `# if tsconfig.json compiles every folder, add ${name} to its "exclude", with node_modules and the outDir`,
      ];
}

function templateOf(manifest: Manifest): string {
  const present = dependenciesOf(manifest);
  return frameworks.find(([dependency]) => dependency in present)?.[1] ?? 'openai';
}

const dependenciesOf = (manifest: Manifest): Readonly<Record<string, unknown>> => ({
  ...(manifest['devDependencies'] as object | undefined),
  ...(manifest['dependencies'] as object | undefined),
});

/**
 * Adds those dependencies of the template that the project lacks. Returns a line for each
 * dependency that the project has in another version.
 */
async function addDependencies(
  file: string,
  manifest: Manifest,
  template: Manifest,
): Promise<readonly string[]> {
  const present = dependenciesOf(manifest);
  const wanted = Object.entries(dependenciesOf(template));
  const missing = wanted.filter(([name]) => !(name in present));
  await editManifest(file, { dependencies: Object.fromEntries(missing) });
  return wanted
    .filter(([name, range]) => name in present && present[name] !== range)
    .map(
      ([name, range]) => `${name} is ${String(present[name])}; the template has ${String(range)}`,
    );
}

/**
 * Disables the install scripts of the packages in {@link denied}, by settings of npm and Yarn in
 * package.json.
 */
async function denyScripts(manifest: string, env: Environment): Promise<void> {
  const none = Object.fromEntries(denied.map((name) => [name, false]));
  const built = Object.fromEntries(denied.map((name) => [name, { built: false }]));
  await editManifest(manifest, {
    allowScripts: none,
    ...(packageManagerOf(env) === 'yarn' && { dependenciesMeta: built }),
  });
}

/** Returns a function that checks whether a file defines a workspace that contains the project. */
const containing =
  (project: string, patternsOf: (file: string) => readonly string[] | undefined) =>
  (file: string): boolean => {
    const patterns = patternsOf(file);
    return (
      patterns !== undefined &&
      isWorkspaceMember(path.relative(path.dirname(file), project), patterns)
    );
  };

/**
 * Returns the workspace patterns of a package.json, or undefined if it declares none or cannot be
 * read.
 */
function manifestPatterns(file: string): readonly string[] | undefined {
  try {
    const { workspaces } = readManifest(file);
    if (workspaces === undefined) return undefined;
    return textsOf(Array.isArray(workspaces) ? workspaces : (workspaces as Manifest)['packages']);
  } catch {
    return undefined;
  }
}

/**
 * Returns the workspace patterns of a pnpm-workspace.yaml, or a pattern for all folders if the file
 * cannot be parsed.
 */
function pnpmPatterns(file: string): readonly string[] {
  const document = parseDocument(readFileSync(file, 'utf8'));
  if (document.errors.length > 0) return ['**'];
  return textsOf((document.toJS() as Manifest | null)?.['packages']);
}

const textsOf = (list: unknown): readonly string[] =>
  Array.isArray(list) ? list.filter((item) => typeof item === 'string') : [];

/**
 * Returns pnpm's settings with the install scripts of the packages in {@link denied} disabled, or
 * undefined if the project does not use pnpm.
 * @throws ConfigError if the existing settings cannot be edited
 */
async function pnpmSettingsOf(
  cwd: string,
  env: Environment,
): Promise<{ readonly file: string; readonly text: string } | undefined> {
  const name = 'pnpm-workspace.yaml';
  const found = findUp(cwd, name, containing(cwd, pnpmPatterns));
  if (found === undefined && packageManagerOf(env) !== 'pnpm') return undefined;
  const file = found ?? path.join(cwd, name);
  try {
    const document = parseDocument(found === undefined ? '' : await readFile(file, 'utf8'));
    // The key may have no value.
    if (document.has('allowBuilds') && document.get('allowBuilds') === undefined)
      document.delete('allowBuilds');
    for (const each of denied)
      if (!document.hasIn(['allowBuilds', each])) document.setIn(['allowBuilds', each], false);
    return { file, text: document.toString() };
  } catch (cause) {
    throw new ConfigError(`${file} cannot be edited: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Returns the nearest file called `name` for which `accepts` returns true. Searches the folder and
 * its parent folders.
 */
function findUp(
  folder: string,
  name: string,
  accepts: (file: string) => boolean,
): string | undefined {
  const file = path.join(folder, name);
  if (existsSync(file) && accepts(file)) return file;
  const above = path.dirname(folder);
  return above === folder ? undefined : findUp(above, name, accepts);
}
