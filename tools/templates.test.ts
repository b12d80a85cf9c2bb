import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProject, templates } from '../apps/create/src/index.ts';
import { run } from '../packages/launcher/src/index.ts';

const root = join(import.meta.dirname, '..');
// This example depends on every framework, so that the imports of all templates can be resolved.
const place = join(root, 'examples/react-calculator/runs/templates');
const names = templates.map(({ name }) => name);

/** Changes that shorten a run to two steps with few runs. */
const shorter: readonly (readonly [RegExp, string])[] = [
  [/total_steps: \d+/, 'total_steps: 2'],
  [/batch_size: 16/, 'batch_size: 2'],
  [/repeat_times: 8/, 'repeat_times: 2'],
  [/eval_on_startup: true/, 'eval_on_startup: false'],
  [/ {4}eval_tasksets:[^]*?(?= {4}default)/, ''],
];

describe('templates', { tags: ['slow'] }, () => {
  beforeAll(async () => {
    rmSync(place, { recursive: true, force: true });
    for (const template of names) {
      await createProject({ template, folder: template, cwd: place });
    }
  });
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  it.for(names)('%s trains with the packages of this checkout', async (template) => {
    const cwd = join(place, template);
    const file = join(cwd, 'train.yaml');
    const text = shorter.reduce(
      (yaml, [pattern, value]) => yaml.replace(pattern, value),
      readFileSync(file, 'utf8'),
    );
    writeFileSync(file, text);
    const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
    // A package would be built before it is used as a plugin; the test uses its source.
    const pluginDirs = template.endsWith('-package') ? ['src'] : [];
    const summary = await run({ configPath: 'train.yaml', cwd, pluginDirs, terminal });
    expect(summary).toMatchObject({ interrupted: false, trainStep: 2 });
    expect(existsSync(join(summary.checkpoint ?? '', 'model.safetensors'))).toBe(true);
  });
});
