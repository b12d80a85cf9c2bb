// Writes the API reference from the doc comments of the packages' exports, in dist/api with a folder
// per package. It is not committed.
//   pnpm docs:api     fails for exports without a doc comment and for broken links
import { join } from 'node:path';
import {
  Application,
  ReflectionKind,
  type DeclarationReflection,
  type TypeDocOptions,
} from 'typedoc';
import type { PluginOptions } from 'typedoc-plugin-markdown';
import { listPackages } from './workspace.ts';

const root = join(import.meta.dirname, '..');
const published = listPackages(root).filter(({ manifest }) => manifest.private !== true);

const options: Partial<TypeDocOptions> & Partial<PluginOptions> = {
  plugin: ['typedoc-plugin-markdown'],
  name: 'API reference',
  entryPoints: published.map(({ path }) => join(root, path, 'src/index.ts')),
  basePath: root,
  tsconfig: join(root, 'tsconfig.json'),
  out: join(root, 'dist/api'),
  readme: 'none',
  disableSources: true,
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  skipErrorChecking: true, // `pnpm typecheck` does it
  treatValidationWarningsAsErrors: true,
  validation: { notExported: false, invalidLink: true, notDocumented: false },
  hidePageHeader: true,
  useCodeBlocks: true,
  expandObjects: false,
};

const app = await Application.bootstrapWithPlugins(options);
const project = await app.convert();
if (project === undefined) process.exitCode = 1;
else {
  const modules = project.children ?? [];
  for (const { path, manifest } of published)
    for (const module of modules) if (module.name === `${path}/src`) module.name = manifest.name;
  for (const name of modules.flatMap(undocumented)) app.logger.error(`${name} has no doc comment`);
  app.validate(project);
  await app.generateOutputs(project);
  process.exitCode = app.logger.hasErrors() || app.logger.hasWarnings() ? 1 : 0;
}

/**
 * Exported functions, classes and constants without a doc comment. Types are exempt, because their
 * fields have comments.
 */
function undocumented(module: DeclarationReflection): readonly string[] {
  const kinds = ReflectionKind.Function | ReflectionKind.Class | ReflectionKind.Variable;
  return (module.children ?? [])
    .filter((child) => child.kindOf(kinds))
    .filter((child) => ![child, ...(child.signatures ?? [])].some((part) => part.hasComment()))
    .map((child) => `${module.name}: ${child.name}`);
}
