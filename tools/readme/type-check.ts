/**
 * Type-checks all examples in one program, each as if it were a file of the package that it is about.
 */
import { join } from 'node:path';
import ts from 'typescript';
import { placeOf, type Block } from './blocks.ts';

/** One line per error: `README.md:40: Type ...`. */
export function typeErrors(root: string, blocks: readonly Block[]): readonly string[] {
  const config = ts.getParsedCommandLineOfConfigFile(join(root, 'tsconfig.base.json'), ownOptions, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
      throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
    },
  });
  const places = new Map(blocks.map((block) => [placeOf(root, block), block]));
  const host = ts.createCompilerHost(config!.options);
  const [fileExists, readFile] = [host.fileExists.bind(host), host.readFile.bind(host)];
  host.fileExists = (path) => places.has(path) || fileExists(path);
  host.readFile = (path) => places.get(path)?.text ?? readFile(path);
  const program = ts.createProgram([...places.keys()], config!.options, host);
  return [...places].flatMap(([path, block]) => {
    const source = program.getSourceFile(path);
    return [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ].map(({ start = 0, messageText }) => {
      const { line } = source!.getLineAndCharacterOfPosition(start);
      return `${block.file}:${block.line + line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
  });
}

/** Compiler options of examples, which may declare values that they do not use. */
const ownOptions: ts.CompilerOptions = { noUnusedLocals: false, declaration: false };
