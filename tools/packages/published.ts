/**
 * Checks of a package for npm: its origin, links that work outside of the repository, resolvable types.
 */
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export interface PackedManifest {
  readonly keywords?: readonly string[];
  readonly homepage?: string;
  readonly bugs?: string;
  readonly repository?: { readonly url?: string; readonly directory?: string };
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** One line per package that the declarations of an entry point need and that may not be installed. */
export function typeProblems(
  { exports = {}, dependencies, peerDependencies, peerDependenciesMeta = {} }: PackedManifest,
  read: (file: string) => string | undefined,
): readonly string[] {
  const present = { ...dependencies, ...peerDependencies };
  const entries = Object.values(exports).flatMap((entry) => {
    const { types } = (typeof entry === 'object' ? entry : {}) as { readonly types?: string };
    return types === undefined ? [] : [posix.normalize(types)];
  });
  const seen = new Set(entries);
  const problems: string[] = [];
  for (const file of seen) {
    const text = read(file) ?? '';
    for (const [, from, imported] of text.matchAll(/\bfrom '([^']+)'|\bimport\("([^"]+)"\)/g)) {
      const name = from ?? imported ?? '';
      if (name.startsWith('.'))
        seen.add(posix.join(posix.dirname(file), name).replace(/\.js$/, '.d.ts'));
      else if (!name.startsWith('node:')) {
        const [scope = '', rest = ''] = name.split('/');
        const owner = scope.startsWith('@') ? `${scope}/${rest}` : scope;
        if (!(owner in present) || peerDependenciesMeta[owner]?.optional === true)
          problems.push(`${file} imports ${owner}, which may not be installed`);
      }
    }
  }
  return problems;
}

/** One line per field that is missing or differs from the root's origin. */
export function originProblems(
  root: string,
  path: string,
  { keywords = [], homepage, bugs, repository }: PackedManifest,
): readonly string[] {
  const origin = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackedManifest;
  const url = origin.repository?.url ?? '';
  const page = `${url.replace(/^git\+|\.git$/g, '')}/tree/main/${path}#readme`;
  return [
    keywords.length === 0 && 'there are no keywords',
    homepage !== page && `the homepage is ${homepage}, not ${page}`,
    bugs !== origin.bugs && `bugs is ${bugs}, not ${origin.bugs} as in the root`,
    repository?.url !== url && `repository.url is ${repository?.url}, not ${url} as in the root`,
    repository?.directory !== path && `repository.directory is not ${path}`,
  ].filter((problem) => problem !== false);
}

/** One line per link that only works in the repository. */
export function readmeProblems(readme: string | undefined): readonly string[] {
  if (readme === undefined) return ['there is no README.md'];
  const text = readme.replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...text.matchAll(/\]\((?!https?:|#)([^)\s]+)\)/g)].map(
    ([, link]) =>
      `README.md links to ${link}, which is not in the package: write its https address`,
  );
}
