/** Copies the files of a template into a new folder. */
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { packageNameOf, partFile, partsOf } from './manifest.js';
import { installCommand, packageManagerOf, quoted, type Environment } from './next-steps.js';
import { findTemplate, packageFolder } from './templates.js';

export interface CreateProjectOptions {
  /** The name of one of {@link templates}. @default "openai" */
  readonly template?: string;
  /** Is created, or must be empty. Its last part becomes the name of the package. */
  readonly folder: string;
  /** Base of `folder`. @default the working directory */
  readonly cwd?: string;
  /** Tells the package manager that `next` names. @default process.env */
  readonly env?: Environment;
}

export interface CreatedProject {
  readonly template: string;
  /** Absolute. */
  readonly folder: string;
  /** The name in package.json. */
  readonly name: string;
  /** Paths from the folder, sorted. */
  readonly files: readonly string[];
  /** Next commands, one line each. */
  readonly next: readonly string[];
}

/**
 * Creates a project. Nothing is installed or downloaded.
 * @throws ConfigError for an unknown template, a folder that holds files, or a name that npm refuses
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

/** Copies the files of parts of a template, but for those of the given names. */
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

/** @throws ConfigError when it is a file, or holds files */
export async function makeEmptyFolder(folder: string): Promise<void> {
  if ((await stat(folder).catch(() => undefined))?.isFile())
    throw new ConfigError(`${folder} is a file. Choose a folder that does not exist.`);
  await mkdir(folder, { recursive: true });
  const files = (await readdir(folder)).filter((file) => file !== '.git');
  if (files.length > 0)
    throw new ConfigError(
      `${folder} is not empty (it holds ${files[0]}). Choose a folder that does not exist.`,
    );
}

/** npm leaves files such as .npmrc and .gitignore out of a package, so they begin with "_" there. */
async function restoreHiddenFiles(folder: string): Promise<void> {
  for (const file of await readdir(folder))
    if (file.startsWith('_'))
      await rename(path.join(folder, file), path.join(folder, file.replace('_', '.')));
}

/** Paths from the folder, sorted. */
export async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)))
    .filter((file) => !file.startsWith('.git/'))
    .toSorted();
}
