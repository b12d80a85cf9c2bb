import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines } from './support/run-record.js';
import { createWideModel } from './support/wide-model.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

const guide = readFileSync(new URL('../../../docs/guides/workflows.md', import.meta.url), 'utf8');
const blocks = [...guide.matchAll(/^```ts\n([^]*?)^```/gm)].map(([, text = '']) => text);

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  await createWideModel(workspace, 'wide');
});

/**
 * Tests the code of the page as a user would run it: copied into a directory that the configuration
 * names.
 */
describe('a workflow of docs/guides/workflows.md as a plugin', () => {
  it.each([
    ['sums', 'sums', {}],
    ['example_workflow', 'class ExampleWorkflow extends Workflow {\n  static', {}],
    ['agent_workflow', 'async function myAgent', {}],
    ['guess', 'class GuessStepWise', { workflow_args: { max_step_num: 2 } }],
    ['persuade', 'class Persuade', {}],
  ])('trains: %s', { timeout: 240_000 }, async (name, contains, taskset: Tree) => {
    const text = blocks.find((block) => block.includes(contains))!;
    // Only exported workflows are registered, so the snippet's definition is exported.
    const exported =
      name === 'guess'
        ? `${text}\nexport const guess = defineWorkflow({ name: 'guess', workflow: GuessStepWise });`
        : text;
    workspace.write(
      `guide-${name}/mine.ts`,
      exported.replace('const workflow = define', 'export const workflow = define'),
    );
    const format = { prompt_key: 'question', response_key: 'answer' };
    const tasksets = [{ name: 'sums', path: 'tasks.jsonl', format, ...taskset }];
    const config = workspace.config(`${name}.yaml`, {
      name,
      buffer: { total_steps: 1, explorer_input: { tasksets, default_workflow_type: name } },
      model: { model_path: 'wide', max_prompt_tokens: 300, max_response_tokens: 4 },
    });
    const { error } = await runHere(workspace, config, {
      pluginDirs: ['plugins', `guide-${name}`],
    });
    expect(error).toBeUndefined();
    const lines = metricLines(path.join(workspace.root, 'runs/tests', name));
    expect(lines.filter(({ role }) => role === 'trainer')).not.toEqual([]);
    expect(lines.find(({ role }) => role === 'explorer')!.metrics).toMatchObject({
      'rollout/runs/failed': 0,
    });
  });
});
