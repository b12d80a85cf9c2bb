// Checks the two rings of CONTRIBUTING.md: the core ring does not import the outer ring, and the outer
// ring only imports public entry points.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { listPackages } from './workspace.ts';

/** The only file of the composition root that may import the outer ring. */
const exception = 'packages/launcher/src/outer/outer.ts';

/** Reports one line per import that violates the rings; empty if there is none. */
export function checkRings(root: string): readonly string[] {
  const core = readCore(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8'));
  const packages = listPackages(root).filter(({ path }) => !path.startsWith('examples/'));
  const paths = new Map(packages.map(({ path, manifest }) => [manifest.name, path]));
  const missing = [...core].filter((path) => !packages.some((each) => each.path === path));
  return [
    ...missing.map((path) => `CONTRIBUTING.md: the core ring names ${path}, which does not exist`),
    ...packages.flatMap(({ path }) =>
      sourcesOf(join(root, path)).flatMap((file) => {
        const name = relative(root, file).replaceAll('\\', '/');
        return packageImports(readFileSync(file, 'utf8')).flatMap(([specifier, imported]) => {
          const target = paths.get(imported);
          if (target === undefined) return [];
          if (target === path) return [`${name}: imports its own package as ${specifier}`];
          if (!core.has(path))
            return specifier.endsWith('/internal')
              ? [`${name}: the outer ring imports ${specifier}, which is no public entry point`]
              : [];
          return core.has(target) || name === exception
            ? []
            : [`${name}: the core ring imports ${specifier} of the outer ring`];
        });
      }),
    ),
  ];
}

/** Packages listed in the sentence `The core ring is ...`. */
function readCore(contributing: string): ReadonlySet<string> {
  const sentence = /The core ring is ([^.]*)\./.exec(contributing)?.[1] ?? '';
  return new Set([...sentence.matchAll(/`([\w-]+)`/g)].map(([, name]) => `packages/${name}`));
}

/** Names of our packages in the imports and re-exports of a text. */
const packageImports = (text: string): readonly (readonly [string, string])[] =>
  [...text.matchAll(/\b(?:from|import) ?\(?\s*'((@trinity-rft\/[\w-]+)[^']*)'/g)].map(
    ([, specifier = '', name = '']) => [specifier, name],
  );

/** Source files of a package, without tests. */
export function sourcesOf(folder: string): readonly string[] {
  return ['src', 'page']
    .map((part) => join(folder, part))
    .filter(existsSync)
    .flatMap((part) => readdirSync(part, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /(?<!\.test|\.d)\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}
