/** Patterns with which package.json and pnpm-workspace.yaml name the projects of a workspace. */
import path from 'node:path';

/**
 * Returns true if a folder is a project of the workspace.
 * @param folder path relative to the root; the root itself is always a project
 * @param patterns globs such as `apps/*`; those that begin with `!` exclude
 */
export function isWorkspaceMember(folder: string, patterns: readonly string[]): boolean {
  if (folder === '') return true;
  const names = folder.split(path.sep).join('/');
  const matches = (pattern: string): boolean => expressionOf(pattern).test(`${names}/`);
  const [excluding, including] = [true, false].map((isNot) =>
    patterns.filter((pattern) => pattern.startsWith('!') === isNot),
  );
  return including!.some(matches) && !excluding!.some((pattern) => matches(pattern.slice(1)));
}

function expressionOf(pattern: string): RegExp {
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.');
  const source = parts.map((part) => (part === '**' ? '(?:[^/]+/)*' : `${nameSource(part)}/`));
  return new RegExp(`^${source.join('')}$`);
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
