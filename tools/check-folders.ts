// Checks that imports between the folders and files of a package run one way, as those between packages do:
// `node tools/check-folders.ts [packages/NAME...]`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { listPackages } from './workspace.ts';

/** One import of a file by another, as paths from the package's `src`. */
interface Import {
  readonly from: string;
  readonly to: string;
  /**
   * True for `new URL(...)`, which names the program of a worker thread; the importing file shares
   * only types with it.
   */
  readonly isProgram: boolean;
}

/** One example import per importing room and imported room; see {@link checkFolders} for rooms. */
type Corridors = ReadonlyMap<string, ReadonlyMap<string, Import>>;

/**
 * One line per group of rooms or files that import each other, with an example of each import. The
 * rooms of a folder are its subfolders, each with everything inside, and one more room of all files
 * directly in the folder.
 */
export function checkFolders(root: string, paths = packagePaths(root)): readonly string[] {
  return paths.flatMap((path) => {
    const source = join(root, path, 'src');
    const imports = existsSync(source) ? readImports(source) : [];
    const direct = imports.filter(({ isProgram }) => !isProgram);
    const folders = new Set(
      imports.flatMap(({ from, to }) => [...foldersOf(from), ...foldersOf(to)]),
    );
    return [...folders].flatMap((folder) =>
      [
        ...describeKnots(corridorsIn(imports, (file) => roomOf(file, folder))),
        ...describeKnots(corridorsIn(direct, (file) => fileIn(file, folder))),
      ].map((knot) => `${posix.join(path, 'src', folder)}: ${knot}`),
    );
  });
}

const packagePaths = (root: string): readonly string[] =>
  listPackages(root).map(({ path }) => path);

/** Relative imports of source files. Imports of types count: a reader follows them too. */
function readImports(source: string): readonly Import[] {
  return sourceFiles(source).flatMap((file) => {
    const from = relative(source, file).replaceAll('\\', '/');
    const text = readFileSync(file, 'utf8');
    return [...text.matchAll(relativeImport)]
      .map(([statement, path = '']) => ({
        from,
        to: posix.join(posix.dirname(from), path),
        isProgram: statement.startsWith('new URL'),
      }))
      .filter(({ to }) => !to.startsWith('..'));
  });
}

/** Matches `... from './a.js'`, `import './a.js'`, `import('./a.js')`, and `new URL('./a.js', ...)` of threads. */
const relativeImport = /\b(?:from |import ?\(?\s*|new URL\()'(\.{1,2}\/[^']+)'/g;

const sourceFiles = (source: string): readonly string[] =>
  readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.test|\.d)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));

/** Folders that contain a file: `.`, `a` and `a/b` for `a/b/c.ts`. */
function foldersOf(file: string): readonly string[] {
  const folder = posix.dirname(file);
  return folder === '.' ? ['.'] : [...foldersOf(folder), folder];
}

function corridorsIn(
  imports: readonly Import[],
  room: (file: string) => string | undefined,
): Corridors {
  const corridors = new Map<string, Map<string, Import>>();
  for (const each of imports) {
    const from = room(each.from);
    const to = room(each.to);
    if (from === undefined || to === undefined || from === to) continue;
    corridors.set(from, (corridors.get(from) ?? new Map<string, Import>()).set(to, each));
  }
  return corridors;
}

const ownFiles = 'own files';

/** The room of `folder` that a file belongs to; undefined for a file outside of `folder`. */
function roomOf(file: string, folder: string): string | undefined {
  const path = posix.relative(folder, file);
  if (path.startsWith('..')) return undefined;
  const slash = path.indexOf('/');
  return slash < 0 ? ownFiles : path.slice(0, slash);
}

/** Name of a file that is directly in `folder`; undefined for other files. */
const fileIn = (file: string, folder: string): string | undefined =>
  posix.dirname(file) === folder ? posix.basename(file).replace(/\.[jt]s$/, '') : undefined;

/** Groups of rooms that reach each other, described by the imports between them. */
function describeKnots(corridors: Corridors): readonly string[] {
  const reach = new Map([...corridors.keys()].map((room) => [room, reachable(corridors, room)]));
  const knots = [...reach]
    .filter(([room, reached]) => reached.has(room))
    .map(([room, reached]) =>
      [...reached].filter((other) => reach.get(other)?.has(room)).toSorted(),
    );
  const distinct = new Map(knots.map((rooms) => [rooms.join('/'), rooms]));
  return [...distinct.values()].map((rooms) => {
    const examples = rooms.flatMap((room) =>
      [...(corridors.get(room) ?? [])]
        .filter(([other]) => rooms.includes(other))
        .map(([, { from, to }]) => `${from} -> ${to}`),
    );
    return `${rooms.join(' and ')} import each other: ${examples.join(', ')}`;
  });
}

/** Rooms that can be reached from `start` through imports. */
function reachable(corridors: Corridors, start: string): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (room: string): void => {
    for (const next of corridors.get(room)?.keys() ?? []) {
      if (found.has(next)) continue;
      found.add(next);
      visit(next);
    }
  };
  visit(start);
  return found;
}

if (process.argv[1] === import.meta.filename) {
  const named = process.argv.slice(2);
  const problems = checkFolders(
    join(import.meta.dirname, '..'),
    named.length > 0 ? named : undefined,
  );
  for (const problem of problems) console.error(problem);
  console.log(
    problems.length === 0
      ? 'The folders and files of every package import each other one way.'
      : `${problems.length} groups that import each other.`,
  );
  process.exitCode = problems.length === 0 ? 0 : 1;
}
