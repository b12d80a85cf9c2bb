/** Units and manifests of the documentation: what they name exists, and what they refer to is there. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { describeBlock, listDocuments, readBlocks, type Block } from './readme/blocks.ts';
import { commandFault } from './readme/commands.ts';

const root = join(import.meta.dirname, '..');
const blocks = listDocuments(root).flatMap((file) => readBlocks(root, file));

const named = (all: readonly Block[]) =>
  all.map((block): [string, Block] => [describeBlock(block), block]);

/** The arguments of `node_modules/.bin/trinity`, checked by the command itself. */
async function faultOf(command: readonly string[]): Promise<string | undefined> {
  expect(command[0]).toMatch(/node_modules\/\.bin\/trinity$/);
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
  ],
  Install: ['WantedBy'],
};

describe('units of systemd', () => {
  const units = blocks.filter(({ language }) => language === 'ini');

  it.each(named(units))('%s', async (_name, { text }) => {
    let section = '';
    let command = '';
    for (const line of text.split('\n').filter((each) => each !== '')) {
      const [, heading] = /^\[(\w+)\]$/.exec(line) ?? [];
      if (heading !== undefined) section = heading;
      if (heading !== undefined) continue;
      const [key = '', value] = line.split(/=(.*)/s);
      expect(keys[section]).toContain(key);
      expect(value).not.toBe('');
      if (key === 'ExecStart') command = value ?? '';
    }
    expect(await faultOf(command.split(' '))).toBeUndefined();
  });
});

interface Container {
  readonly command: readonly string[];
  readonly workingDir: string;
  readonly env?: readonly { readonly name: string }[];
  readonly envFrom: readonly { readonly secretRef: { readonly name: string } }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Pod {
  readonly restartPolicy?: string;
  readonly containers: readonly Container[];
  readonly volumes?: readonly {
    readonly name: string;
    readonly persistentVolumeClaim: { readonly claimName: string };
  }[];
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly podFailurePolicy?: unknown;
    readonly selector?: { readonly matchLabels: unknown };
    readonly template?: { readonly metadata?: { readonly labels: unknown }; readonly spec: Pod };
  };
}

const versions: Readonly<Record<string, string>> = {
  Secret: 'v1',
  PersistentVolumeClaim: 'v1',
  Job: 'batch/v1',
  Deployment: 'apps/v1',
};

describe('manifests of Kubernetes', () => {
  const files = blocks.filter(({ words }) => words.includes('kubernetes'));

  it.each(named(files))('%s', async (_name, { text }) => {
    const documents = parseAllDocuments(text);
    expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
    const manifests = documents.map((document) => document.toJS() as Manifest);
    const names = (kind: string): readonly string[] =>
      manifests.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name);
    for (const { kind, apiVersion, spec } of manifests) {
      expect([kind, apiVersion]).toEqual([kind, versions[kind]]);
      const { template } = spec ?? {};
      if (!template) continue;
      expect(template.metadata?.labels).toEqual(spec?.selector?.matchLabels);
      // Otherwise the API refuses it.
      const policy = spec?.podFailurePolicy && 'Never';
      expect(template.spec.restartPolicy).toBe(policy);
      const { containers, volumes = [] } = template.spec;
      for (const { persistentVolumeClaim: claim } of volumes)
        expect(names('PersistentVolumeClaim')).toContain(claim.claimName);
      for (const { command, env = [], envFrom, volumeMounts = [] } of containers) {
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

  it('are there', () => expect(files).toHaveLength(1));
});
