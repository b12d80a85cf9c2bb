// Checks that imports between the folders of a package run one way, as those between packages do.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { listPackages } from './workspace.ts';

/** One import statement, by paths from the package's `src`. */
interface Import {
  readonly from: string;
  readonly to: string;
}

/**
 * One line per knot of folders, with an import for each direction; none when every package is in
 * order. A folder counts with everything inside it; the files directly in `src` count as one
 * folder.
 */
export function checkFolders(root: string, paths = packagePaths(root)): readonly string[] {
  return paths.flatMap((path) => {
    const source = join(root, path, 'src');
    if (!existsSync(source)) return [];
    const imports = readImports(source);
    const parents = new Set(
      imports.flatMap(({ from, to }) => [...ancestors(from), ...ancestors(to)]),
    );
    return [...parents].flatMap((parent) =>
      knots(roomEdges(imports, parent)).map(
        (knot) => `${path}/src/${posix.join(parent, '')}: ${knot}`,
      ),
    );
  });
}

const packagePaths = (root: string): readonly string[] =>
  listPackages(root).map(({ path }) => path);

/** Imports of files by relative path, tests left out. Type imports count: a reader follows them too. */
function readImports(source: string): readonly Import[] {
  return sourceFiles(source).flatMap((file) => {
    const from = toPosix(relative(source, file));
    const text = readFileSync(file, 'utf8');
    return [...text.matchAll(/\bfrom '(\.{1,2}\/[^']+)'|\bimport\(?'(\.{1,2}\/[^']+)'/g)]
      .map(([, named, bare]) => posix.join(posix.dirname(from), named ?? bare ?? ''))
      .filter((to) => !to.startsWith('..'))
      .map((to) => ({ from, to }));
  });
}

function sourceFiles(source: string): readonly string[] {
  return readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.test|\.d)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

const toPosix = (path: string): string => path.replaceAll('\\', '/');

/** `a/b/c.ts` -> `.`, `a`, `a/b`. */
function ancestors(file: string): readonly string[] {
  const folder = dirname(file);
  return folder === '.' ? ['.'] : [...ancestors(folder), folder];
}

/** The rooms of `parent` are its folders, and its own files together. */
function roomEdges(imports: readonly Import[], parent: string): ReadonlyMap<string, Import> {
  const edges = new Map<string, Import>();
  for (const each of imports) {
    const [from, to] = [roomOf(each.from, parent), roomOf(each.to, parent)];
    if (from !== undefined && to !== undefined && from !== to) edges.set(`${from} ${to}`, each);
  }
  return edges;
}

function roomOf(file: string, parent: string): string | undefined {
  if (parent !== '.' && !file.startsWith(`${parent}/`)) return undefined;
  const [first, ...rest] = (parent === '.' ? file : file.slice(parent.length + 1)).split('/');
  return rest.length === 0 ? 'own files' : first;
}

/** Groups of rooms that reach each other, each described by the imports between its rooms. */
function knots(edges: ReadonlyMap<string, Import>): readonly string[] {
  const rooms = new Set([...edges.keys()].flatMap((edge) => splitEdge(edge)));
  const reach = new Map([...rooms].map((room) => [room, reachable(edges, room)]));
  const seen = new Set<string>();
  return [...rooms].toSorted().flatMap((room) => {
    const knot = [...rooms].filter(
      (other) => reach.get(room)?.has(other) && reach.get(other)?.has(room),
    );
    if (knot.length < 2 || seen.has(room)) return [];
    for (const member of knot) seen.add(member);
    const inside = [...edges].filter(([edge]) =>
      splitEdge(edge).every((end) => knot.includes(end)),
    );
    const shown = inside.map(([, { from, to }]) => `${from} -> ${to}`);
    return [`${knot.toSorted().join(' and ')} import each other: ${shown.join(', ')}`];
  });
}

const splitEdge = (edge: string): [string, string] => {
  const at = edge.lastIndexOf(' ');
  return edge.startsWith('own files ')
    ? ['own files', edge.slice('own files '.length)]
    : edge.endsWith(' own files')
      ? [edge.slice(0, -' own files'.length), 'own files']
      : [edge.slice(0, at), edge.slice(at + 1)];
};

function reachable(edges: ReadonlyMap<string, Import>, start: string): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (room: string): void => {
    for (const edge of edges.keys()) {
      const [from, to] = splitEdge(edge);
      if (from !== room || found.has(to)) continue;
      found.add(to);
      visit(to);
    }
  };
  visit(start);
  return found;
}

if (process.argv[1] === import.meta.filename) {
  const root = join(import.meta.dirname, '..');
  const named = process.argv.slice(2);
  const problems = checkFolders(root, named.length > 0 ? named : undefined);
  for (const problem of problems) console.error(problem);
  console.log(
    problems.length === 0
      ? 'Imports between folders run one way in every package.'
      : `${problems.length} knots of folders that import each other.`,
  );
  process.exitCode = problems.length === 0 ? 0 : 1;
}
