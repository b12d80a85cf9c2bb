import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startTrinity } from './support/trinity.js';
import { createWorkspace, evalTasksets, type Tree } from './support/workspace.js';

const script = fileURLToPath(new URL('support/program.ts', import.meta.url));

it.each<readonly [how: string, over: Tree, interruptAfter: string | undefined, said: RegExp]>([
  ['ends', evalTasksets, undefined, /^\{"interrupted":false,.*\} \n$/],
  [
    'fails',
    { buffer: { explorer_input: { default_workflow_type: 'silent' } } },
    undefined,
    /^WorkflowError \n$/,
  ],
  ['is interrupted', {}, 'step 2', /^\{"interrupted":true,.*\} \n$/],
])(
  'leaves nothing that keeps the process alive when a run %s',
  { timeout: 240_000 },
  async (_how, over, interruptAfter, said) => {
    const workspace = await createWorkspace();
    workspace.write(
      'plugins/silent.ts',
      "import { defineWorkflow } from '@trinity-rft/workflow';\nexport const silent = defineWorkflow({ name: 'silent', run: () => undefined as never });\n",
    );
    const program = startTrinity(
      workspace.root,
      [
        workspace.config('run.yaml', over),
        ...(interruptAfter === undefined ? [] : [interruptAfter]),
      ],
      { script },
    );
    const { exitCode, stdout, stderr } = await program.ended;
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(said);
  },
);
