/**
 * In-memory disk for files below {@link diskRoot}. Each access is an event of the kernel: a process can die between any
 * two accesses, or have a full disk. Other paths reach the real disk.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { currentProcess, type Kernel } from './kernel.ts';

export const diskRoot = '/simulated';

/** Content of files by path; undefined for a folder. */
type Entries = Map<string, Buffer | undefined>;

interface Disk {
  readonly kernel: Kernel;
  readonly entries: Entries;
}

let disk: Disk | undefined;

/** Starts the next simulation with an empty disk. */
export function formatDisk(kernel: Kernel): void {
  install();
  disk = { kernel, entries: new Map([[diskRoot, undefined]]) };
}

const isOurs = (file: unknown): file is string =>
  typeof file === 'string' && (file === diskRoot || file.startsWith(`${diskRoot}/`));

function failure(code: string, file: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: '${file}'`), { code, path: file });
}

function entriesOf(): Entries {
  if (!disk) throw new Error('There is no simulated disk: formatDisk was not called.');
  return disk.entries;
}

const childrenOf = (folder: string): readonly string[] =>
  [...entriesOf().keys()].filter((file) => path.dirname(file) === folder && file !== folder);

const below = (folder: string): readonly string[] =>
  [...entriesOf().keys()].filter((file) => file === folder || file.startsWith(`${folder}/`));

function assertExists(file: string): void {
  if (!entriesOf().has(file)) throw failure('ENOENT', file);
}

function assertRoom(file: string): void {
  if (currentProcess()?.diskIsFull) throw failure('ENOSPC', file);
}

function readFile(file: string, options?: unknown): Buffer | string {
  const content = entriesOf().get(file);
  if (!content) throw failure(entriesOf().has(file) ? 'EISDIR' : 'ENOENT', file);
  const encoding = typeof options === 'string' ? options : encodingOf(options);
  return encoding ? content.toString(encoding as BufferEncoding) : Buffer.from(content);
}

const encodingOf = (options: unknown): string | null | undefined =>
  (options as { encoding?: string | null } | undefined)?.encoding;

function writeFile(file: string, data: string | Uint8Array): void {
  assertExists(path.dirname(file));
  assertRoom(file);
  const content = typeof data === 'string' ? Buffer.from(data) : Buffer.from(new Uint8Array(data));
  entriesOf().set(file, content);
}

const appendFile = (file: string, data: Uint8Array): void =>
  writeFile(file, Buffer.concat([entriesOf().get(file) ?? Buffer.alloc(0), data]));

function mkdir(folder: string, options?: { readonly recursive?: boolean }): void {
  if (entriesOf().has(folder)) {
    if (options?.recursive) return;
    throw failure('EEXIST', folder);
  }
  const parent = path.dirname(folder);
  if (options?.recursive && isOurs(parent)) mkdir(parent, options);
  assertExists(parent);
  assertRoom(folder);
  entriesOf().set(folder, undefined);
}

function rm(file: string, options?: { readonly recursive?: boolean; readonly force?: boolean }) {
  if (!options?.force) assertExists(file);
  for (const each of below(file)) entriesOf().delete(each);
}

function rename(from: string, to: string): void {
  assertExists(from);
  assertExists(path.dirname(to));
  if (childrenOf(to).length > 0) throw failure('ENOTEMPTY', to);
  const entries = entriesOf();
  for (const each of below(from)) {
    const content = entries.get(each);
    entries.delete(each);
    entries.set(to + each.slice(from.length), content);
  }
}

function readdir(folder: string, options?: { readonly withFileTypes?: boolean }): unknown {
  assertExists(folder);
  const names = childrenOf(folder).map((file) => path.basename(file));
  if (!options?.withFileTypes) return names;
  return names.map((name) => ({ name, parentPath: folder, ...kindOf(path.join(folder, name)) }));
}

function stat(file: string) {
  assertExists(file);
  return { ...kindOf(file), size: entriesOf().get(file)?.length ?? 0, mtimeMs: 0 };
}

/** Opens a file for reading from start to end. */
async function open(file: string) {
  let rest = Buffer.from(readFile(file));
  return {
    read: async (into: Uint8Array) => {
      const bytesRead = rest.copy(into);
      rest = rest.subarray(bytesRead);
      return { bytesRead };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

const kindOf = (file: string) => ({
  isFile: () => entriesOf().get(file) !== undefined,
  isDirectory: () => entriesOf().get(file) === undefined,
});

type Verb = (...args: never[]) => unknown;

const verbs: Readonly<Record<string, Verb>> = {
  readFile,
  writeFile,
  appendFile,
  mkdir,
  rm,
  rename,
  readdir,
  stat,
  access: assertExists,
  copyFile: (from: string, to: string) => writeFile(to, readFile(from)),
};

/**
 * Makes a file operation an event of the calling process. `writeFile` first creates an empty file,
 * as on a real disk.
 */
function deferred(name: string, verb: Verb): (...args: unknown[]) => Promise<unknown> {
  return (...args) => {
    const owner = currentProcess();
    if (!disk || !owner) return new Promise((resolve) => resolve(verb(...(args as never[]))));
    const { kernel } = disk;
    if (name === 'writeFile') writeEmpty(args[0] as string);
    return new Promise((resolve, reject) => {
      kernel.schedule({ what: `${owner.name} ${name}`, ms: 0.1, owner }, () => {
        try {
          resolve(verb(...(args as never[])));
        } catch (error) {
          reject(error as Error);
        }
      });
    });
  };
}

function writeEmpty(file: string): void {
  if (entriesOf().has(path.dirname(file)) && !currentProcess()?.diskIsFull)
    entriesOf().set(file, Buffer.alloc(0));
}

let installed = false;

function install(): void {
  if (installed) return;
  installed = true;
  const promises = fs.promises as unknown as Record<string, Verb>;
  const sync = fs as unknown as Record<string, Verb>;
  for (const [name, verb] of Object.entries(verbs)) {
    redirect(promises, name, deferred(name, verb));
    redirect(sync, `${name}Sync`, verb);
  }
  redirect(promises, 'open', open);
  redirect(sync, 'existsSync', (file: string) => entriesOf().has(file));
  syncBuiltinESMExports();
}

function redirect(module: Record<string, Verb>, name: string, ours: Verb): void {
  const original = module[name] as (...args: unknown[]) => unknown;
  const call = ours as (...args: unknown[]) => unknown;
  module[name] = (...args: unknown[]): unknown =>
    isOurs(args[0]) ? call(...args) : original(...args);
}
