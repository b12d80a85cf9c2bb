import { readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { problemsOf, renderProblem } from '../packages/config/src/index.ts';
import { createProject, templates } from '../apps/create/src/index.ts';
import { renderAlgorithmDocs } from './algorithm-docs.ts';
import { renderConfigDocs } from './config-docs.ts';
import { renderDifferences } from './differences-docs.ts';
import { renderDiagnosisDocs } from './diagnosis-docs.ts';
import { describeBlock, listDocuments, readBlocks, type Block } from './readme/blocks.ts';
import { commandFault, readCommands } from './readme/commands.ts';
import { isConfiguration, readConfiguration } from './readme/configurations.ts';
import { brokenLinks } from './readme/links.ts';
import { runBlock } from './readme/run.ts';
import { typeErrors } from './readme/type-check.ts';

const root = join(import.meta.dirname, '..');
const documents = listDocuments(root);
const blocks = documents.flatMap((file) => readBlocks(root, file));
const examples = blocks.filter(({ language }) => language === 'ts');
const isFile = ({ words }: Block): boolean => /\.\w+$/.test(words[0] ?? '');

const configurations = blocks.filter(isConfiguration);

/** Problems of a configuration. A partial one is appended to the previous complete configuration. */
function configProblems({ file, line, text, words }: Block): readonly string[] {
  const whole = configurations.findLast(
    (other) => other.file === file && other.line < line && !other.words.includes('part'),
  );
  try {
    readConfiguration(root, words.includes('part') ? `${whole?.text}${text}` : text, file);
    return [];
  } catch (error) {
    const problems = problemsOf(error).map(renderProblem);
    if (problems.length === 0) throw error;
    return problems;
  }
}

/**
 * Folder for the modules of templates: the example there depends on every framework, so that all imports can be
 * resolved.
 */
const projects = join(root, 'examples/react-calculator/runs/template-types');

/** Modules of a project of each template. */
async function templateSources(): Promise<readonly Block[]> {
  const sources: Block[] = [];
  for (const { name } of templates) {
    const { folder, files } = await createProject({ template: name, folder: name, cwd: projects });
    for (const path of files
      .map((file) => join(folder, file))
      .filter((file) => file.endsWith('.ts')))
      sources.push({
        file: relative(root, path),
        line: 1,
        language: 'ts',
        words: [],
        text: readFileSync(path, 'utf8'),
      });
  }
  return sources;
}

describe('the documentation', { tags: ['slow'] }, () => {
  afterAll(() => rmSync(projects, { recursive: true, force: true }));

  // All examples are checked in one program, because loading the sources of all packages takes most
  // of the time.
  it('has examples of the right types, and so have the templates of projects', async () => {
    rmSync(projects, { recursive: true, force: true });
    const sources = await templateSources();
    expect(examples.length).toBeGreaterThan(10);
    expect(sources.length).toBeGreaterThan(templates.length);
    expect(typeErrors(root, [...examples, ...sources])).toEqual([]);
  });

  it.for(
    examples
      .filter(({ words }) => !words.includes('no-run'))
      .map((block) => [describeBlock(block), block] as const),
  )('has an example that runs: %s', { concurrent: true }, async ([, block], { expect }) => {
    const files = blocks.filter((other) => other.file === block.file && isFile(other));
    expect(await runBlock(root, block, files)).toBeUndefined();
  });

  it.for(configurations.map((block) => [describeBlock(block), block] as const))(
    'has a configuration without mistakes: %s',
    ([, block]) => expect(configProblems(block)).toEqual([]),
  );

  it('names commands that exist', async () => {
    const commands = documents.flatMap((file) =>
      readCommands(root, file).map((command) => [file, command] as const),
    );
    expect(commands.length).toBeGreaterThan(20);
    const faults = await Promise.all(
      commands.map(async ([file, command]) => [
        file,
        command.text,
        await commandFault(root, command),
      ]),
    );
    expect(faults.filter(([, , fault]) => fault !== undefined)).toEqual([]);
  });

  it('has the keys of the configuration as they are: else run `pnpm docs:config`', () => {
    const page = readFileSync(join(root, 'docs/reference/config.md'), 'utf8');
    expect(renderConfigDocs(page)).toBe(page);
  });

  it('has the algorithms as they are: else run `pnpm docs:algorithms`', () => {
    const page = readFileSync(join(root, 'docs/reference/algorithms.md'), 'utf8');
    expect(renderAlgorithmDocs(page)).toBe(page);
  });

  it('has what is not available as it is: else run `pnpm docs:differences`', () => {
    const page = readFileSync(join(root, 'docs/reference/differences.md'), 'utf8');
    expect(renderDifferences(page)).toBe(page);
  });

  it('has the rules of the diagnosis as they are: else run `pnpm docs:diagnosis`', () => {
    const page = readFileSync(join(root, 'docs/guides/diagnosis.md'), 'utf8');
    expect(renderDiagnosisDocs(page)).toBe(page);
  });

  it('names and links to files and headings that exist', () => {
    expect(documents.flatMap((file) => brokenLinks(root, file))).toEqual([]);
  });
});
