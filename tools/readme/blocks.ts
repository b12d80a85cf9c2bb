/** Markdown documents of the repository, and their fenced code blocks. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { listPackages } from '../workspace.ts';

export interface Block {
  /** Markdown file, relative to the root of the repository. */
  readonly file: string;
  /** Number of the first line of the block's text, from 1. */
  readonly line: number;
  readonly language: string;
  /**
   * Words after the language: `no-run`, or the name of a file that exists when the file's examples run.
   */
  readonly words: readonly string[];
  readonly text: string;
}

/** Every Markdown file for readers, relative to the root of the repository. */
export function listDocuments(root: string): readonly string[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.md'),
  );
  const readmes = listPackages(root).map(({ path }) => `${path}/README.md`);
  const skill = 'apps/create/templates/agent/SKILL.md';
  return [
    'README.md',
    'CONTRIBUTING.md',
    skill,
    ...docs.map((path) => `docs/${path}`),
    ...readmes,
  ].filter((path) => existsSync(join(root, path)));
}

export function readBlocks(root: string, file: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { line: number; info: readonly string[]; lines: string[] } | undefined;
  for (const [index, line] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (!fence) open?.lines.push(line);
    else if (!open)
      open = { line: index + 2, info: (fence[1] ?? '').trim().split(/\s+/), lines: [] };
    else {
      const [language = '', ...words] = open.info;
      blocks.push({ file, line: open.line, language, words, text: `${open.lines.join('\n')}\n` });
      open = undefined;
    }
  }
  return blocks;
}

/** Documents outside of packages may import the dependencies of this package. */
const neighbour = 'apps/runner';

/**
 * Path at which an example is checked, so that its imports resolve: in the package that the document is
 * about.
 */
export function placeOf(root: string, { file, line }: Block): string {
  const folder = /^(?:packages|integrations|apps|examples)\//.test(file)
    ? dirname(file)
    : neighbour;
  return join(root, folder, `${basename(file, '.md')}.${line}.ts`);
}

export const describeBlock = ({ file, line }: Block): string => `${file}:${line}`;
