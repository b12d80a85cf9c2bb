import { servedRollouts } from '@trinity-rft/model/testing';
import { scriptedSampler } from '@trinity-rft/testing';
import { scriptedModel, tryWorkflow } from '@trinity-rft/workflow';
import { afterAll, expect, it } from 'vitest';
import { processWorkflow, type CommandResult, type ProcessWorkflowOptions } from '../src/index.js';

const served = await servedRollouts();
afterAll(() => served.close());

async function attempt(over: Partial<ProcessWorkflowOptions>): Promise<unknown> {
  const { endpoint } = await served.open({
    sampler: scriptedSampler({ script: [] }),
    signal: new AbortController().signal,
  });
  const model = { ...scriptedModel({ answers: [] }), endpoint: () => endpoint };
  const command = { command: process.execPath, args: ['-e', ''] };
  const workflow = processWorkflow({ name: 'p', command: () => command, ...over });
  return tryWorkflow(workflow, { model, rawTask: { prompt: '?' } });
}

it.each([undefined, null, '1', [], {}])('leaves %j for the explorer to name', async (score) => {
  expect(await attempt({ score: () => score as never })).toEqual(score);
});

it.each([0.5, true, { reward: 1, metrics: { a: 2 } }])('adds its seconds to %j', async (score) => {
  expect(await attempt({ score: () => score as never })).toMatchObject({
    metrics: { process_seconds: expect.any(Number) as number },
  });
});

it('fails a rollout whose program failed, unless score is asked for failures', async () => {
  const program = 'console.error("Traceback: no tool"); process.exit(3)';
  const command = () => ({ command: process.execPath, args: ['-e', program] });
  const score = ({ exitCode }: CommandResult) => -exitCode;
  expect(await attempt({ command, score, failures: 'score' })).toMatchObject({ reward: -3 });
  for (const given of [{ command }, { command, score }])
    await expect(attempt(given)).rejects.toThrow(
      /exited with code 3\. Its last output:\n {2}Traceback: no tool/,
    );
});

it('fails a rollout whose output is cut, unless a function of its own scores it', async () => {
  const program = 'console.log("the answer is 4, " + "x".repeat(50))';
  const made = { command: process.execPath, args: ['-e', program], transcriptLimit: 20 };
  const command = () => made;
  await expect(attempt({ command })).rejects.toMatchObject({
    code: 'PROCESS_OUTPUT',
    message: expect.stringMatching(/wrote 48 more characters .* raise transcriptLimit/) as string,
  });
  const score = ({ dropped }: CommandResult) => dropped;
  expect(await attempt({ command, score })).toMatchObject({ reward: 48 });
});

it.each([[{ failures: 'score' }], [{ failures: true, score: () => 0 }]])(
  'refuses %j, which would have no effect',
  async (options) => {
    await expect(attempt(options as never)).rejects.toThrow(
      /failures is .*; expected "score", beside a function score/,
    );
  },
);

it.each([undefined, 'node', { command: 7 }])(
  'names a command function that returns %j',
  async (made) => {
    await expect(attempt({ command: () => made as never })).rejects.toThrow(
      'The command function of workflow "p" returned',
    );
  },
);
