/** Finds a plugin: a directory of modules, one module, or an npm package. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ConfigError } from '@trinity-rft/core';
import type { Jiti } from 'jiti';

/** A plugin, and the modules that it consists of. */
export interface FoundPlugin {
  /** Name of the plugin in messages. */
  readonly title: string;
  readonly files: readonly string[];
  /**
   * Modules of a directory that are loaded only if other modules import them.
   * @default no modules
   */
  readonly helpers?: readonly string[];
  /**
   * The entry in the package.json of a directory, as JSON, if the entry does not exist.
   * @default the entry exists, or none is named
   */
  readonly missing?: string;
}

interface PluginPlaces {
  /** Resolver that finds the entry module of an npm package. */
  readonly jiti: Jiti;
  /**
   * Directory that relative paths start from. Packages are first looked up in the `node_modules` of
   * this directory.
   */
  readonly cwd: string;
  /** Additional folders in whose `node_modules` packages are looked up. */
  readonly projects: readonly string[];
}

const modulePattern = /^[^_.].*\.(?:ts|mts|js|mjs)$/;
const helperPattern = /^_.*\.(?:ts|mts|js|mjs)$/;
const notModules = /\.(?:d\.m?ts|(?:test|spec)\.\w+)$/;

/** Finds the modules at the top level of a directory. @throws ConfigError when it cannot be read */
export async function findPluginDirectory(directory: string): Promise<FoundPlugin> {
  const names = await readdir(directory).catch((cause: unknown) => {
    throw new ConfigError(
      `Plugin directory ${directory} cannot be read. Give --plugin-dir a directory that exists, and --plugin a package.`,
      { code: 'PLUGIN_DIR', cause },
    );
  });
  const modules = (pattern: RegExp): readonly string[] =>
    names
      .filter((name) => pattern.test(name) && !notModules.test(name))
      .toSorted()
      .map((name) => path.join(directory, name));
  const [files, helpers] = [modules(modulePattern), modules(helperPattern)];
  return { title: `Plugin directory ${directory}`, files, helpers };
}

/**
 * Finds a plugin by path or package name. If a directory is a package, only its entry module is
 * loaded, if it exists. A path takes precedence over a package of the same name.
 * @throws ConfigError when there is neither a path nor a package
 */
export async function findPlugin(plugin: string, places: PluginPlaces): Promise<FoundPlugin> {
  const place = path.resolve(places.cwd, plugin);
  const stats = statSync(place, { throwIfNoEntry: false });
  if (stats?.isFile() === true) return { title: `Plugin ${place}`, files: [place] };
  if (stats?.isDirectory() === true) {
    const { file, missing } = entryOf(place, places.jiti);
    const title = `Plugin ${place}`;
    if (file !== undefined) return { title, files: [file] };
    const found = await findPluginDirectory(place);
    return missing === undefined ? found : { ...found, title, missing };
  }
  if (!isPath(plugin)) {
    const entry = installedEntry(plugin, places);
    if (entry !== undefined) return { title: `Plugin ${plugin} (${entry})`, files: [entry] };
  }
  throw notFound(plugin, place, places);
}

const isPath = (plugin: string): boolean => /^[./\\~]|^[A-Za-z]:/.test(plugin);

/**
 * Finds the entry module of the package in a directory. Without a package or an entry, all modules
 * at the top level are the plugin; `main: index.js`, which `npm init` writes, may be missing.
 */
function entryOf(
  directory: string,
  jiti: Jiti,
): { readonly file?: string; readonly missing?: string } {
  const manifestFile = path.join(directory, 'package.json');
  if (!existsSync(manifestFile)) return {};
  const { name, main, exports: all } = readManifest(manifestFile);
  const exports = name === undefined ? undefined : all;
  // The main module may lack its extension, or be a folder.
  const specifier =
    name === undefined || exports === undefined
      ? pathToFileURL(path.join(directory, main ?? 'index.js')).href
      : name;
  const file = resolveFrom(specifier, directory, jiti);
  if (file !== undefined && existsSync(file)) return { file };
  const given = exports ?? main;
  const namesNone =
    typeof given === 'string'
      ? path.normalize(given) === 'index.js'
      : Object.keys(given ?? {}).every((key) => key.startsWith('./'));
  return namesNone ? {} : { missing: JSON.stringify(given) };
}

interface Manifest {
  readonly name?: string;
  readonly main?: string;
  readonly exports?: string | object | null;
}

function readManifest(file: string): Manifest {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  } catch (cause) {
    throw new ConfigError(`Plugin ${path.dirname(file)}: its package.json is not JSON.`, {
      code: 'PLUGIN_LOAD',
      cause,
    });
  }
}

function installedEntry(name: string, { jiti, cwd, projects }: PluginPlaces): string | undefined {
  for (const project of [cwd, ...projects]) {
    const entry = resolveFrom(name, project, jiti);
    if (entry !== undefined) return entry;
  }
  return undefined;
}

function resolveFrom(specifier: string, folder: string, jiti: Jiti): string | undefined {
  const parentURL = pathToFileURL(path.join(folder, 'plugins.js'));
  const found = jiti.esmResolve(specifier, { parentURL, try: true });
  return found?.startsWith('file:') === true ? fileURLToPath(found) : undefined;
}

function notFound(plugin: string, place: string, { cwd, projects }: PluginPlaces): ConfigError {
  const searched = [...new Set([cwd, ...projects])].join(' and ');
  const project = projects.find((folder) => existsSync(path.join(folder, plugin)));
  const there =
    project === undefined
      ? 'Name a directory, a module or an npm package.'
      : `It is in ${project}: start the command there.`;
  const message = isPath(plugin)
    ? `There is no plugin ${place}. Relative paths start at the working directory, ${cwd}. ${there}`
    : `There is no plugin "${plugin}": ${place} does not exist, and no package of this name with an entry point is installed in ${searched}. ` +
      `Install it there (npm install ${plugin}), or check the path.`;
  return new ConfigError(message, { code: 'PLUGIN_MISSING', details: { plugin } });
}
