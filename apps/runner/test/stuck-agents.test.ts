import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runArgs, startTrinity, type Trinity } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

const agent = (name: string, body: string): string => `
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { defineWorkflow } from '@trinity-rft/workflow';
export const ${name} = defineWorkflow({
  name: '${name}',
  run: async function act({ task, model }) {
    const [answer] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
    ${body}
    return answer.responseText.length;
  },
});
`;

/** Program that ends once a file `done` exists. */
const untilDone = `setInterval(() => require('fs').existsSync('done') && process.exit(), 50)`;

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  workspace.write('plugins/endless.ts', agent('endless', 'for (;;);'));
  workspace.write('plugins/late.ts', agent('late', "while (!existsSync('go')) ;"));
  workspace.write(
    'plugins/waits.ts',
    agent('waits', `execFileSync(process.execPath, ['-e', ${JSON.stringify(untilDone)}]);`),
  );
  workspace.write('plugins/exits.ts', agent('exits', 'process.exit(0);'));
});

/** Starts a run that does not end by itself. */
function start(name: string): Trinity {
  const workflow: Tree = {
    buffer: { total_steps: 100_000, explorer_input: { default_workflow_type: name } },
  };
  const config = workspace.config(`${name}.yaml`, workflow, { name });
  return startTrinity(workspace.root, runArgs(config));
}

/** Resolves as soon as the command has printed `text`; rejects when the command ends without printing it. */
function printed(command: Trinity, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    void command.ended.then(() => reject(new Error(`"${text}" is not in: ${command.output()}`)));
    const look = (): void => {
      if (command.output().includes(text)) resolve();
    };
    command.child.stdout?.on('data', look);
    command.child.stderr?.on('data', look);
  });
}

describe('an agent that blocks the event loop', () => {
  it(
    'is named with its run and its line, and Ctrl-C ends the process',
    { timeout: 240_000 },
    async () => {
      const command = start('endless');
      // On a busy machine, the place follows in a second message.
      await printed(command, 'of workflow "endless"');
      expect(command.output()).toMatch(
        /The event loop has been blocked for 4 s by (?:[^]*by )?run 1\/\d\/\d of workflow "endless", at act \(.*endless\.ts:\d+:\d+\)\./,
      );
      command.child.kill('SIGINT');
      const { exitCode, signal } = await command.ended;
      expect([exitCode, signal]).toEqual([null, 'SIGINT']);
    },
  );

  it(
    'in a call of another program is named as soon as that has ended',
    { timeout: 240_000 },
    async () => {
      const command = start('waits');
      await printed(command, 'by a call that does not return');
      workspace.write('done', '');
      await printed(command, 'The call that blocked it was made by ');
      command.child.kill('SIGINT');
      await command.ended;
      expect(command.output()).toMatch(
        /was made by run 1\/\d\/\d of workflow "waits", at act \(.*waits\.ts:\d+:\d+\)\./,
      );
    },
  );

  it(
    'and comes back is told, and the next Ctrl-C saves a checkpoint again',
    { timeout: 240_000 },
    async () => {
      const command = start('late');
      await printed(command, 'The event loop has been blocked for 4 s');
      workspace.write('go', '');
      await printed(command, 'The event loop runs again.');
      await printed(command, 'step 1');
      command.child.kill('SIGINT');
      const { exitCode, stdout } = await command.ended;
      expect(exitCode).toBe(130);
      expect(stdout).toMatch(/Interrupted after train step \d+\./);
    },
  );
});

it(
  'names the run whose agent calls process.exit(0), and does not end with 0',
  { timeout: 240_000 },
  async () => {
    const { exitCode, stderr } = await start('exits').ended;
    expect(exitCode).toBe(1);
    const said =
      /The process was ended by run 1\/\d\/\d of workflow "exits" with exit code 0 before the run was complete/;
    expect(stderr).toMatch(said);
    expect(readFileSync(path.join(workspace.root, 'runs/tests/exits/failure.txt'), 'utf8')).toMatch(
      said,
    );
  },
);
