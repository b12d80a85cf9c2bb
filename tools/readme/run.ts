/** Runs examples, each in its own process and folder. */
import { spawn } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { describeBlock, placeOf, type Block } from './blocks.ts';

const patienceMs = 300_000;

/**
 * Problem of an example; undefined if it ended by itself with exit code 0. `files` exist when it
 * starts.
 */
export async function runBlock(
  root: string,
  block: Block,
  files: readonly Block[],
): Promise<string | undefined> {
  const cwd = await mkdtemp(join(tmpdir(), 'trinity-readme-'));
  try {
    await cp(join(import.meta.dirname, 'files'), cwd, { recursive: true });
    for (const { words, text } of files) await writeFile(join(cwd, words[0]!), text);
    const { exitCode, output } = await execute(root, block, cwd);
    return exitCode === 0
      ? undefined
      : `${describeBlock(block)} ended with ${exitCode}:\n${output}`;
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

function execute(
  root: string,
  block: Block,
  cwd: string,
): Promise<{ readonly exitCode: number | string; readonly output: string }> {
  const tools = join(root, 'tools');
  const flags = [
    '--conditions=@trinity-rft/source',
    '--import',
    join(tools, 'register-source.mjs'),
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [...flags, join(tools, 'readme/run-block.mjs'), placeOf(root, block)],
      {
        cwd,
        timeout: patienceMs,
      },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ exitCode: code ?? signal ?? 'nothing', output }));
    child.stdin.on('error', () => undefined).end(withAssertions(block.text));
  });
}

/**
 * Converts comments with results, such as `runKey(eid); // => '0/3/1'`, to assertions. Line numbers
 * stay the same.
 */
function withAssertions(text: string): string {
  const tree = ts.createSourceFile('example.ts', text, ts.ScriptTarget.Latest);
  const checked = tree.statements
    .filter(ts.isExpressionStatement)
    .reduceRight((source, statement) => {
      const value = /^ *\/\/ => (.+)/.exec(text.slice(statement.end))?.[1];
      if (value === undefined) return source;
      const { expression } = statement;
      const assertion = `assert.deepStrictEqual(await (${expression.getText(tree)}), ${value});`;
      return source.slice(0, expression.getStart(tree)) + assertion + source.slice(statement.end);
    }, text);
  return checked === text ? text : `import assert from 'node:assert/strict'; ${checked}`;
}
