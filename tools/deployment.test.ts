/**
 * Checks systemd units and manifests of the documentation: the files and resources that they name
 * exist.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { describeBlock, listDocuments, readBlocks, type Block } from './readme/blocks.ts';
import { commandFault } from './readme/commands.ts';
import { programOf, startedService, type ComposeFile } from './readme/compose.ts';
import { isConfiguration, readConfiguration } from './readme/configurations.ts';
import { plannedOf, startedBy } from './readme/planned.ts';

const root = join(import.meta.dirname, '..');
const blocks = listDocuments(root).flatMap((file) => readBlocks(root, file));

const named = (all: readonly Block[]) =>
  all.map((block): [string, Block] => [describeBlock(block), block]);

const isOurs = ([program = '']: readonly string[]): boolean =>
  program.endsWith('node_modules/.bin/trinity');

/** Problem of a `node_modules/.bin/trinity` command, as reported by the command itself. */
async function faultOf(command: readonly string[]): Promise<string | undefined> {
  if (!isOurs(command)) return undefined;
  const text = ['trinity', ...command.slice(1)].join(' ');
  return commandFault(root, { text, isWhole: true });
}

const keys: Readonly<Record<string, readonly string[]>> = {
  Unit: ['Description', 'After', 'Wants'],
  Service: [
    'User',
    'WorkingDirectory',
    'EnvironmentFile',
    'ExecStart',
    'Restart',
    'RestartSec',
    'RestartPreventExitStatus',
    'SuccessExitStatus',
    'TimeoutStopSec',
    'DynamicUser',
    'ProtectSystem',
    'ProtectHome',
    'NoNewPrivileges',
  ],
  Install: ['WantedBy'],
};

const folder = join(root, 'docs/guides/deploy');

/**
 * Checks the sections and keys of a systemd unit.
 * @returns the start command of the unit
 */
function checkedUnit(text: string): string {
  let section = '';
  let command = '';
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
    const [, heading] = /^\[(\w+)\]$/.exec(line) ?? [];
    if (heading !== undefined) section = heading;
    if (heading !== undefined) continue;
    const [key = '', value] = line.split(/=(.*)/s);
    expect(keys[section]).toContain(key);
    expect(value).not.toBe('');
    if (key === 'ExecStart') command = value ?? '';
  }
  return command;
}

describe('units of systemd', () => {
  const units = blocks.filter(({ language }) => language === 'ini');

  it.each(named(units))('%s', async (_name, { text }) => {
    const command = checkedUnit(text).split(' ');
    expect(command).toSatisfy(isOurs);
    expect(await faultOf(command)).toBeUndefined();
  });

  it('of the server of trained models', async () => {
    const command = checkedUnit(readFileSync(join(folder, 'trinity-serve.service'), 'utf8'));
    expect(await installedFault(command.replace(/^\/usr\/bin\//, '').split(' '))).toBeUndefined();
  });
});

/** Problem of a `node` command that starts the installed command line: an error, or a file that the package lacks. */
async function installedFault(words: readonly string[]): Promise<string | undefined> {
  const { name, bin } = JSON.parse(
    readFileSync(join(root, 'apps/runner/package.json'), 'utf8'),
  ) as { readonly name: string; readonly bin: { readonly trinity: string } };
  expect(words.slice(0, 2)).toEqual(['node', join('node_modules', name, bin.trinity)]);
  const text = ['trinity', ...words.slice(2)].join(' ');
  return commandFault(root, { text, isWhole: true });
}

describe('the Dockerfile of trained models', () => {
  const lines = readFileSync(join(folder, 'Dockerfile'), 'utf8').split('\n');
  const after = (instruction: string): string =>
    lines.find((line) => line.startsWith(`${instruction} `))?.slice(instruction.length + 1) ?? '';

  it('starts a command that exists, with what the guide gives it', async () => {
    const guide = blocks.find(({ text }) => text.includes('docker run'))?.text ?? '';
    const [, given = ''] = /docker run .* trinity-serve (.*)/.exec(guide) ?? [];
    const words = [...(JSON.parse(after('ENTRYPOINT')) as string[]), ...given.split(' ')];
    expect(words).toContain('--model');
    expect(await installedFault(words)).toBeUndefined();
    expect(words).toContain(after('EXPOSE'));
  });

  it('installs the llama.cpp that the tests use', () => {
    const { catalog } = parse(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')) as {
      readonly catalog: Readonly<Record<string, string>>;
    };
    expect(after('RUN')).toContain(` node-llama-cpp@${catalog['node-llama-cpp']}`);
  });

  it.each([
    [200, 0],
    [503, 1],
  ])('is healthy by what /ready answers: %i', async (status, exitCode) => {
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.writeHead(status).end();
    });
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const [, command = '[]'] = / CMD (\[.*\])/.exec(after('HEALTHCHECK')) ?? [];
    const [program, ...args] = JSON.parse(command) as string[];
    expect(program).toBe('node');
    const here = args.map((arg) => arg.replace(':8010', `:${port}`));
    const child = spawn(process.execPath, here, { stdio: 'inherit' });
    expect(await new Promise((done) => void child.on('close', done))).toBe(exitCode);
    expect(asked).toEqual(['/ready']);
    server.close();
  });
});

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly envFrom?: readonly { readonly secretRef: { readonly name: string } }[];
  readonly ports?: readonly { readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Pod {
  readonly restartPolicy?: string;
  readonly containers: readonly Container[];
  readonly volumes?: readonly {
    readonly name: string;
    readonly persistentVolumeClaim?: { readonly claimName: string };
  }[];
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly podFailurePolicy?: unknown;
    readonly replicas?: number;
    readonly serviceName?: string;
    readonly selector?: { readonly matchLabels: unknown };
    readonly ports?: readonly { readonly port: number }[];
    readonly template?: { readonly metadata?: { readonly labels: unknown }; readonly spec: Pod };
  };
}

const versions: Readonly<Record<string, string>> = {
  Secret: 'v1',
  Service: 'v1',
  PersistentVolumeClaim: 'v1',
  Job: 'batch/v1',
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
};

const readManifests = (text: string): readonly Manifest[] => {
  const documents = parseAllDocuments(text);
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  return documents.map((document) => document.toJS() as Manifest);
};

/** Addresses of the containers of a file: those of a Service, or the name of each pod. */
function reached(manifests: readonly Manifest[]): ReadonlyMap<string, Container> {
  const found = manifests.flatMap(({ kind, metadata: { name }, spec }) => {
    const service = manifests.find(
      (each) =>
        each.kind === 'Service' &&
        isDeepStrictEqual(each.spec?.selector, spec?.template?.metadata?.labels),
    );
    const [container] = spec?.template?.spec.containers ?? [];
    const port = service?.spec?.ports?.[0]?.port;
    if (service === undefined || container === undefined) return [];
    expect(container.ports).toEqual([{ containerPort: port }]);
    const named = kind === 'StatefulSet' ? service.metadata.name : undefined;
    expect(spec?.serviceName).toBe(named);
    const pods = Array.from({ length: spec?.replicas ?? 1 }, (_, i) => `${name}-${i}.`);
    const hosts = ['', ...(kind === 'StatefulSet' ? pods : [])];
    return hosts.map((pod) => [`${pod}${service.metadata.name}:${port}`, container] as const);
  });
  return new Map(found);
}

describe('manifests of Kubernetes', () => {
  const files = blocks.filter(({ words }) => words.includes('kubernetes'));

  it.each(named(files))('%s', async (_name, { text }) => {
    const manifests = readManifests(text);
    const names = (kind: string): readonly string[] =>
      manifests.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name);
    for (const { kind, apiVersion, spec } of manifests) {
      expect([kind, apiVersion]).toEqual([kind, versions[kind]]);
      const { template } = spec ?? {};
      if (!template) continue;
      expect(template.metadata?.labels).toEqual(spec?.selector?.matchLabels);
      // With a podFailurePolicy, the API only accepts the restart policy Never.
      const policy = spec?.podFailurePolicy && 'Never';
      expect(template.spec.restartPolicy).toBe(policy);
      const { containers, volumes = [] } = template.spec;
      for (const { persistentVolumeClaim: claim } of volumes)
        expect([undefined, ...names('PersistentVolumeClaim')]).toContain(claim?.claimName);
      for (const { command = [], env = [], envFrom = [], volumeMounts = [] } of containers) {
        for (const { secretRef } of envFrom) expect(names('Secret')).toContain(secretRef.name);
        for (const { name } of volumeMounts)
          expect(volumes.map((volume) => volume.name)).toContain(name);
        const variables = command.join(' ').matchAll(/\$\((\w+)\)/g);
        for (const [, variable] of variables)
          expect(env.map(({ name }) => name)).toContain(variable);
        expect(await faultOf(command)).toBeUndefined();
      }
    }
  });

  it('are there', () => expect(files).toHaveLength(2));
});

const page = 'docs/guides/deployment.md';

/** The configuration to which a file belongs: the last one before it on the page. */
function plannedFor({ line }: Block): ReturnType<typeof plannedOf> {
  const before = (other: Block): boolean =>
    other.file === page && other.line < line && isConfiguration(other);
  const configuration = blocks.findLast(before);
  expect(configuration).toBeDefined();
  return plannedOf(root, configuration as Block);
}

const onPage = (word: string): Block => {
  const found = blocks.filter(({ file, words }) => file === page && words.includes(word));
  expect(found).toHaveLength(1);
  return found[0] as Block;
};

describe('the page on deployment', () => {
  const configurations = blocks.filter((block) => block.file === page && isConfiguration(block));
  it.each(named(configurations))(
    'has a configuration without effects that are lost: %s',
    (_name, { text }) => {
      const { warnings } = readConfiguration(root, text, page);
      // Warning that concerns one process only: one file serves every process of a run, and the command
      // line selects the process.
      const aboutOneProcess = /experience_buffer\.path: is where processes of a run meet/;
      expect(warnings.filter((one) => !aboutOneProcess.test(one))).toEqual([]);
    },
  );

  it('has manifests that start what the plan says', () => {
    const block = onPage('kubernetes');
    const { servers, databaseImage } = plannedFor(block);
    const places = reached(readManifests(block.text));
    expect(servers.map(({ at }) => at)).toEqual([
      'tuft:8000',
      'vllm-0.vllm:8000',
      'vllm-1.vllm:8000',
    ]);
    for (const { at, words, env, files } of servers) {
      const { command = [], env: given = [] } = places.get(at) ?? {};
      for (const line of files) expect(command.join(' ')).toContain(line);
      expect(programOf(command)).toEqual(words);
      for (const [name, value] of Object.entries(env))
        expect(given).toContainEqual({ name, value });
    }
    expect(places.get('postgres:5432')?.image).toBe(databaseImage);
  });

  it('has a file for Docker Compose that starts what the plan says', async () => {
    const block = onPage('compose');
    const { services, volumes } = parse(block.text, { merge: true }) as ComposeFile;
    const { servers } = plannedFor(block);
    expect(servers.map(({ at }) => at)).toEqual(['tuft:8000', 'vllm:8000']);
    for (const { at, words, env, files } of servers) {
      const service = services[at.split(':')[0] ?? ''];
      const shell = [service?.command ?? ''].flat().join(' ').replaceAll('$$', '$');
      for (const line of files) expect(shell).toContain(line);
      const started = service && startedService(service);
      expect(started?.words).toEqual(words);
      expect(started?.env).toMatchObject(env);
    }
    for (const { volumes: mounted, depends_on: needed = {} } of Object.values(services)) {
      const sources = mounted.map((each) => each.split(':')[0] ?? '').filter((one) => one !== '.');
      expect(Object.keys(volumes)).toEqual(expect.arrayContaining(sources));
      for (const name of Object.keys(needed)) expect(services[name]?.healthcheck).toBeDefined();
    }
    const run = services['run']?.command;
    expect(run).toSatisfy(isOurs);
    expect(await faultOf(run as readonly string[])).toBeUndefined();
  });

  it('starts every server of its commands as the plan says', () => {
    const ray = blocks.find(({ file, text }) => file === page && text.includes('use_ray'));
    const line = ray?.text.replaceAll('\\\n', ' ') ?? '';
    const { words } = startedBy(line);
    const after = blocks.find(
      (each) => each.line > (ray?.line ?? 0) && each.file === page && isConfiguration(each),
    );
    const [planned] = plannedOf(root, after as Block).servers;
    const flags = (all: readonly string[]) => all.filter((word) => word.startsWith('--'));
    expect(flags(words)).toEqual(flags(planned?.words ?? []));
    expect(words).toContain('Qwen/Qwen3-32B');
  });
});
