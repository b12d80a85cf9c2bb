/** Copies the files of a template into a new folder. */
import { existsSync } from 'node:fs';
import { cp, readdir, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { makeFolder } from '@trinity-rft/core/support';
import { packageNameOf, partFile, partsOf } from './manifest.js';
import { installCommand, packageManagerOf, quoted, type Environment } from './next-steps.js';
import { findTemplate, packageFolder } from './templates.js';

export interface CreateProjectOptions {
  /** Name of a template in {@link templates}. @default "openai" */
  readonly template?: string;
  /**
   * Folder to create. If it exists, it must be empty. The package name is derived from its name.
   */
  readonly folder: string;
  /** Folder against which a relative `folder` is resolved. @default the working directory */
  readonly cwd?: string;
  /**
   * Environment variables used to detect the package manager for `next`.
   * @default process.env
   */
  readonly env?: Environment;
}

export interface CreatedProject {
  readonly template: string;
  /** Absolute path of the project. */
  readonly folder: string;
  /** Package name in package.json. */
  readonly name: string;
  /** Paths of all files except those in `.git`, sorted and relative to the folder. */
  readonly files: readonly string[];
  /** Commands that the user should run next, one per line. */
  readonly next: readonly string[];
}

/**
 * Creates a project in a new folder. Does not install or download anything.
 * @throws ConfigError for an unknown template, a folder that contains files, or a name that npm
 * does not accept
 */
export async function createProject({
  template = 'openai',
  folder,
  cwd = process.cwd(),
  env = process.env,
}: CreateProjectOptions): Promise<CreatedProject> {
  const { parts, before } = findTemplate(template);
  const target = path.resolve(cwd, folder);
  const name = packageNameOf(target);
  await makeEmptyFolder(target);
  await copyParts(parts, target);
  const manifest = JSON.stringify({ name, ...partsOf(parts) }, undefined, 2);
  await writeFile(path.join(target, 'package.json'), `${manifest}\n`);
  return {
    template,
    folder: target,
    name,
    files: await listFiles(target),
    next: [
      ...(target === path.resolve(cwd) ? [] : [`cd ${quoted(path.relative(cwd, target))}`]),
      ...(before === undefined ? [] : [before]),
      installCommand(env, existsSync(path.join(target, '.npmrc'))),
      `${packageManagerOf(env)} run train`,
    ],
  };
}

/** Copies the files in a template's parts, except those with a name in `without`. */
export async function copyParts(
  parts: readonly string[],
  target: string,
  without: readonly string[] = [],
): Promise<void> {
  for (const part of parts)
    await cp(path.join(packageFolder, 'templates', part), target, {
      recursive: true,
      filter: (file) => ![partFile, ...without].includes(path.basename(file)),
    });
  await restoreHiddenFiles(target);
}

/**
 * Creates a folder. An existing folder is accepted if it contains nothing but `.git`.
 * @throws ConfigError if the path is a file, or the folder contains anything else or cannot be
 * written
 */
export async function makeEmptyFolder(folder: string): Promise<void> {
  if ((await stat(folder).catch(() => undefined))?.isFile())
    throw new ConfigError(`${folder} is a file. Choose a folder that does not exist.`);
  await makeFolder(folder);
  const files = (await readdir(folder)).filter((file) => file !== '.git');
  if (files.length > 0)
    throw new ConfigError(
      `${folder} is not empty (it holds ${files[0]}). Choose a folder that does not exist.`,
    );
}

/**
 * Renames files such as `_npmrc` and `_gitignore` to `.npmrc` and `.gitignore`. The package has
 * them under other names because npm does not publish files with the real names.
 */
async function restoreHiddenFiles(folder: string): Promise<void> {
  for (const file of await readdir(folder))
    if (file.startsWith('_'))
      await rename(path.join(folder, file), path.join(folder, file.replace('_', '.')));
}

/** Returns the paths of all files except those in `.git`, sorted and relative to the folder. */
export async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)))
    .filter((file) => file.split(path.sep)[0] !== '.git')
    .toSorted();
}
