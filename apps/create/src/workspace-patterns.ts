/**
 * Matches folders against the patterns of a workspace, as in package.json and pnpm-workspace.yaml.
 */
import path from 'node:path';

/**
 * Returns true if a folder belongs to the workspace.
 * @param folder path relative to the root of the workspace; the root itself always belongs to it
 * @param patterns globs such as `apps/*`. Patterns that begin with `!` exclude folders. A pattern
 * with unsupported syntax matches every folder, or excludes no folder if it begins with `!`.
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
 * Converts a pattern to a regular expression. Returns undefined if the pattern uses unsupported
 * syntax: unbalanced braces, a class `[...]`, a group such as `@(a|b)`, an escaped character or a
 * numeric range.
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
