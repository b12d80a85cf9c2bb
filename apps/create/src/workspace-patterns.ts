/** Patterns for the projects of a workspace, as in package.json and pnpm-workspace.yaml. */
import path from 'node:path';

/**
 * Returns true if a folder is a project of the workspace.
 * @param folder path relative to the root; the root itself is always a project
 * @param patterns globs such as `apps/*`; those that begin with `!` exclude. A pattern with
 * unsupported syntax includes every folder, or excludes none.
 */
export function isWorkspaceMember(folder: string, patterns: readonly string[]): boolean {
  if (folder === '') return true;
  const names = folder.split(path.sep).join('/');
  const matches = (pattern: string, otherwise: boolean): boolean =>
    expressionOf(pattern)?.test(`${names}/`) ?? otherwise;
  const isExcluding = (pattern: string): boolean => /^!(?!\()/.test(pattern);
  return (
    patterns.some((pattern) => !isExcluding(pattern) && matches(pattern, true)) &&
    !patterns.some((pattern) => isExcluding(pattern) && matches(pattern.slice(1), false))
  );
}

/**
 * Converts a pattern to a regular expression. Returns undefined for a pattern with unbalanced
 * braces, a class `[...]`, a group such as `@(a|b)`, an escaped character or a numeric range.
 */
function expressionOf(pattern: string): RegExp | undefined {
  if (/[[\]()\\]|\{[^}]*\.\./.test(pattern)) return undefined;
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.');
  const source = parts.map((part) => (part === '**' ? '(?:[^/]+/)*' : `${nameSource(part)}/`));
  try {
    return new RegExp(`^${source.join('')}$`);
  } catch {
    return undefined;
  }
}

const nameSource = (part: string): string =>
  part.replaceAll(/[*?{},]|[.+^$()|[\]\\]/g, (sign) => signs[sign] ?? `\\${sign}`);

const signs: Readonly<Record<string, string>> = {
  '*': '[^/]*',
  '?': '[^/]',
  '{': '(?:',
  '}': ')',
  ',': '|',
};
