/** Reads and writes configurations below a folder. Paths in requests cannot leave this folder. */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  chmod,
  link,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';

const deepest = 4;
const most = 300;
const mostUnreadable = 20;
const largest = 500_000;
const skipped = /^(?:node_modules|dist|\..*|global_step_.*|buffer|monitor|checkpoints)$/;
const yamlName = /\.ya?ml$/;
/**
 * Top-level keys of configurations. A YAML file that has at least two of them is a configuration.
 */
const ourKeys =
  /^(?:mode|model|algorithm|buffer|explorer|trainer|stages|checkpoint_root_dir)[ \t]*:/gm;

interface FoundConfigurations {
  readonly files: readonly string[];
  /** YAML files that cannot be read, at most 20. */
  readonly unreadable: readonly string[];
  /** Number of unreadable files that are not listed in `unreadable`. */
  readonly moreUnreadable: number;
}

/** Finds at most 300 configurations. Paths are relative to `root`, and sorted. */
export async function findConfigurations(root: string): Promise<FoundConfigurations> {
  const found: Record<Kind, string[]> = { configuration: [], unreadable: [], other: [] };
  const look = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (found.configuration.length >= most) return;
      const place = path.join(folder, entry.name);
      if (entry.isFile() && yamlName.test(entry.name))
        found[await kindOf(place)].push(path.relative(root, place).split(path.sep).join('/'));
      if (entry.isDirectory() && depth < deepest && !skipped.test(entry.name))
        await look(place, depth + 1);
    }
  };
  await look(root, 0);
  const { configuration, unreadable } = found;
  return {
    files: configuration.toSorted(),
    unreadable: unreadable.toSorted().slice(0, mostUnreadable),
    moreUnreadable: Math.max(0, unreadable.length - mostUnreadable),
  };
}

type Kind = 'configuration' | 'unreadable' | 'other';

async function kindOf(file: string): Promise<Kind> {
  try {
    const { size } = await stat(file);
    if (size > largest) return 'other';
    const keys = (await readFile(file, 'utf8')).match(ourKeys);
    return new Set(keys).size > 1 ? 'configuration' : 'other';
  } catch (error) {
    // A file may be deleted between its listing and its reading.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'other' : 'unreadable';
  }
}

/**
 * Returns the absolute path of a YAML file below `root`. The file and its folder need not exist
 * yet.
 * @throws ConfigError for a path that is absolute, hidden or not a YAML file, or that leads out of
 * `root`, also through a symbolic link
 */
export async function placeOfFile(root: string, name: string): Promise<string> {
  const file = path.resolve(root, name);
  const parts = path.relative(root, file).split(path.sep);
  const isPlain = parts.every((part) => !/^\.|[\0<>:"|?*]/.test(part) && part !== 'node_modules');
  if (!isPlain || path.isAbsolute(name) || !yamlName.test(file))
    throw refused(name, 'Expected the path of a .yaml file below that folder.');
  let folder = file;
  while (!existsSync(folder)) folder = path.dirname(folder);
  const real = path.relative(await realpath(root), await realpath(folder));
  if (real.split(path.sep)[0] === '..' || path.isAbsolute(real))
    throw refused(name, 'A symbolic link leads out of it.');
  return file;
}

const refused = (name: string, why: string): ConfigError =>
  new ConfigError(
    `${JSON.stringify(name)} is not a configuration below the working directory of the studio. ${why}`,
    { code: 'ARGUMENT_INVALID' },
  );

export const digestOf = (text: string): string => hash('sha256', text);

/**
 * Reads the text of a configuration.
 * @throws ConfigError when the file cannot be read
 */
export async function readConfigurationText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ConfigError(`${file} cannot be read.`, { code: 'CONFIG_READ', cause });
  }
}

/**
 * Writes the text atomically. A replaced file keeps its mode, and a symbolic link to it is kept.
 * @param before digest of the text that the caller means to replace; undefined for a new file
 * @throws ConfigError if the file's digest is another one, or if the file exists although `before`
 * is undefined, or if it cannot be written
 */
export async function saveConfiguration(
  file: string,
  text: string,
  before: string | undefined,
): Promise<void> {
  const now = await readFile(file, 'utf8').catch(() => undefined);
  if ((now === undefined ? undefined : digestOf(now)) !== before) throw changed(file, now);
  let draft: string | undefined;
  try {
    await mkdir(path.dirname(file), { recursive: true });
    const target = before === undefined ? file : await realpath(file);
    draft = `${target}.${process.pid}.tmp`;
    if (before === undefined) {
      await writeFile(draft, text);
      // Unlike `rename`, `link` fails if the file was created meanwhile.
      await link(draft, file);
    } else {
      const { mode } = await stat(target);
      await writeFile(draft, text, { mode });
      // The umask has removed bits of the mode.
      await chmod(draft, mode);
      await rename(draft, target);
    }
  } catch (cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST' && syscall === 'link') throw changed(file, '');
    const fix =
      syscall === 'mkdir' && (code === 'EEXIST' || code === 'ENOTDIR')
        ? 'One of its folders is a file. Choose another path.'
        : 'Check that the folder is writable and the disk has room.';
    throw new ConfigError(`${file} cannot be written: ${describeError(cause)}. ${fix}`, {
      code: 'CONFIG_WRITE',
      cause,
    });
  } finally {
    if (draft !== undefined) await rm(draft, { force: true });
  }
}

const changed = (file: string, now: string | undefined): ConfigError =>
  new ConfigError(
    now === undefined
      ? `${file} has been removed since it was opened. Save it under another name.`
      : `${file} has been changed since it was opened, or exists already. Open it again, or save under another name.`,
    { code: 'CONFIG_CHANGED' },
  );

/**
 * Working directory of a run: the nearest folder above the file with a package.json, otherwise
 * `root`.
 */
export function projectOf(root: string, file: string): string {
  let folder = path.dirname(file);
  while (folder !== root) {
    if (existsSync(path.join(folder, 'package.json'))) return folder;
    const parent = path.dirname(folder);
    if (parent === folder) return root;
    folder = parent;
  }
  return root;
}
