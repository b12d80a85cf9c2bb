/** What the page of a package on npm needs: where it comes from, and links that work outside of the repository. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface PackedManifest {
  readonly keywords?: readonly string[];
  readonly homepage?: string;
  readonly bugs?: string;
  readonly repository?: { readonly url?: string; readonly directory?: string };
}

/** One line for each field that is missing or leads elsewhere than the root's. */
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

/** One line for each link that only works in the repository. */
export function readmeProblems(readme: string | undefined): readonly string[] {
  if (readme === undefined) return ['there is no README.md'];
  const text = readme.replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...text.matchAll(/\]\((?!https?:|#)([^)\s]+)\)/g)].map(
    ([, link]) =>
      `README.md links to ${link}, which is not in the package: write its https address`,
  );
}
