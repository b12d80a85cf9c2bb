import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfig, problemsOf, renderProblem } from '../packages/config/src/index.ts';
import { describeBlock, listDocuments, readBlocks, type Block } from './readme/blocks.ts';
import { commandFault, readCommands } from './readme/commands.ts';
import { runBlock } from './readme/run.ts';
import { typeErrors } from './readme/type-check.ts';

const root = join(import.meta.dirname, '..');
const documents = listDocuments(root);
const blocks = documents.flatMap((file) => readBlocks(root, file));
const examples = blocks.filter(({ language }) => language === 'ts');
const isFile = ({ words }: Block): boolean => /\.\w+$/.test(words[0] ?? '');

/** Paths that a part of a configuration leaves out are no mistake of the part. */
function configProblems({ file, text, words }: Block): readonly string[] {
  try {
    parseConfig(text, { file, env: {}, cwd: join(root, 'tools/readme/files') });
    return [];
  } catch (error) {
    const problems = problemsOf(error).map(renderProblem);
    if (problems.length === 0) throw error;
    return words.includes('part') ? problems.filter((problem) => !/: is missing|there is no /.test(problem)) : problems;
  }
}

describe('the documentation', { tags: ['slow'] }, () => {
  it('has examples of the right types', () => {
    expect(examples.length).toBeGreaterThan(10);
    expect(typeErrors(root, examples)).toEqual([]);
  });

  it.for(examples.filter(({ words }) => !words.includes('no-run')).map((block) => [describeBlock(block), block] as const))(
    'has an example that runs: %s',
    { concurrent: true },
    async ([, block], { expect }) => {
      const files = blocks.filter((other) => other.file === block.file && isFile(other));
      expect(await runBlock(root, block, files)).toBeUndefined();
    },
  );

  it.for(blocks.filter(({ language }) => language === 'yaml').map((block) => [describeBlock(block), block] as const))(
    'has a configuration without mistakes: %s',
    ([, block]) => expect(configProblems(block)).toEqual([]),
  );

  it('names commands that exist', async () => {
    const commands = documents.flatMap((file) => readCommands(root, file).map((command) => [file, command] as const));
    expect(commands.length).toBeGreaterThan(20);
    const faults = await Promise.all(commands.map(async ([file, command]) => [file, command, await commandFault(root, command)]));
    expect(faults.filter(([, , fault]) => fault !== undefined)).toEqual([]);
  });

  it('links to files that exist', () => {
    const links = documents.flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/\]\((?!\w+:)([^)#]+)/g)].map(([, link = '']) => [file, link] as const),
    );
    expect(links.filter(([file, link]) => !existsSync(join(root, dirname(file), link)))).toEqual([]);
  });
});
