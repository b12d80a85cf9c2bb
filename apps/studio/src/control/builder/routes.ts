/** Adds the routes of configurations and of the processes that run them. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { configJsonSchema, renderProblem } from '@trinity-rft/config';
import { ConfigError } from '@trinity-rft/core';
import { lazily, shellText } from '@trinity-rft/core/support';
import { readSource } from '@trinity-rft/launcher/files';
import { loadExtensions } from '@trinity-rft/launcher/parts';
import { jobFolder, type Api } from '@trinity-rft/inspect/studio';
import { builderRoutes, checkBody, nothing, saveBody, startBody } from '../interface/builder.js';
import { checkConfiguration } from './check.js';
import type { TrinityCommand } from '../shared/command.js';
import {
  digestOf,
  findConfigurations,
  placeOfFile,
  projectOf,
  readConfigurationText,
  saveConfiguration,
} from './files.js';
import type { StartedRuns } from './started.js';
import { stopRun } from './stop.js';
import { templates } from './templates.js';

export interface BuilderOptions {
  /** Folder of the configurations. */
  readonly root: string;
  readonly trinity: TrinityCommand;
  readonly runs: StartedRuns;
}

export function addBuilder(api: Api, { root, trinity, runs }: BuilderOptions): void {
  const schema = lazily(readSchema);
  const commandOf = (file: string): string => {
    const project = projectOf(root, file);
    const command = `trinity run ${shellText(path.relative(project, file))}`;
    const folder = shellText(path.relative(root, project));
    return project === root ? command : `cd ${folder} && ${command}`;
  };
  const start = (file: string) => runs.start(file, projectOf(root, file));
  api.get(builderRoutes, '/api/builder/files', async () =>
    Response.json({ folder: root, ...(await findConfigurations(root)) }),
  );
  api.get(builderRoutes, '/api/builder/file', async ({ file: name }) => {
    const file = await placeOfFile(root, name);
    const text = await readConfigurationText(file);
    return Response.json({ text, digest: digestOf(text), command: commandOf(file) });
  });
  api.get(builderRoutes, '/api/builder/templates', () => Response.json(templates));
  api.get(builderRoutes, '/api/builder/schema', async () => Response.json(await schema.get()));
  api.get(builderRoutes, '/api/builder/started', async () => Response.json(await runs.list()));
  api.act('builder/check', checkBody, async ({ file: name, text }, context) => {
    const file = await placeOfFile(root, name);
    const { signal } = context.req.raw;
    const cwd = projectOf(root, file);
    return context.json(await checkConfiguration(trinity, { file, text, cwd, signal }));
  });
  api.act('builder/save', saveBody, async ({ file: name, text, digest }, context) => {
    const file = await placeOfFile(root, name);
    await saveConfiguration(file, text, digest);
    return context.json({ digest: digestOf(text), command: commandOf(file) });
  });
  api.act('builder/start', startBody, async ({ file: name }, context) => {
    const file = await placeOfFile(root, name);
    await readConfigurationText(file);
    return context.json(await start(file));
  });
  api.actOnRun('stop', nothing, async ({ place }) =>
    Response.json({ pid: await stopRun(await jobFolder(place.folder)) }),
  );
  api.actOnRun('resume', nothing, async ({ place }) => {
    const job = await jobFolder(place.folder);
    return Response.json(await start(await configurationOf(job, { root, trinity })));
  });
}

/**
 * JSON Schema for an editor, without the conditions between keys, which only the check evaluates.
 */
async function readSchema(): Promise<Record<string, unknown>> {
  const { definitions: _, ...schema } = configJsonSchema(await loadExtensions({}));
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'allOf' ? undefined : value,
  ) as Record<string, unknown>;
}

/**
 * Returns the path of the configuration with which the run was started. Clients cannot name another
 * file, because checking a configuration executes the code of its plugins.
 * @throws ConfigError if the run recorded no configuration, if the file is not below `root`, or if
 * the file has been changed and is invalid or names another output folder
 */
async function configurationOf(
  job: string,
  { root, trinity }: Omit<BuilderOptions, 'runs'>,
): Promise<string> {
  const recorded = await readSource(job);
  if (recorded === undefined)
    throw noConfiguration(`${job} does not record from which configuration it was started.`);
  const file = await placeOfFile(root, path.relative(root, recorded));
  const text = await readConfigurationText(file);
  const cwd = projectOf(root, file);
  const { problems, jobDirectory } = await checkConfiguration(trinity, { file, text, cwd });
  if (problems.length > 0) {
    const said = problems.map((problem) => renderProblem({ ...problem, file: recorded }));
    throw new ConfigError(`The run cannot be resumed:\n${said.join('\n')}`, {
      code: 'CONFIG_INVALID',
    });
  }
  const place = jobDirectory && (await realpath(jobDirectory).catch(() => jobDirectory));
  if (place === (await realpath(job))) return file;
  throw noConfiguration(`${file}, from which ${job} was started, now writes to ${place}.`);
}

const noConfiguration = (why: string): ConfigError =>
  new ConfigError(`${why} Open its configuration and start that, or run: trinity run FILE`, {
    code: 'RUN_MISSING',
  });
