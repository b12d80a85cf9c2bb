import { readFileSync } from 'node:fs';
import path from 'node:path';
import { defineWorkflow, type WorkflowDefinition } from '@trinity-rft/workflow';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { finishHere, runHere } from './support/run-here.js';
import {
  checkpointSteps,
  metricLines,
  weightsDigest,
  type MetricLine,
} from './support/run-record.js';
import { runArgs, startTrinity, type Trinity } from './support/trinity.js';
import {
  createWorkspace,
  evalTasksets,
  twoStages,
  type Tree,
  type Workspace,
} from './support/workspace.js';

/** Explore step from which runs of this file wait for their interrupt. */
const env = { TEST_HOLD_FROM: '5' };
const talk: Tree = {
  buffer: { total_steps: 8, explorer_input: { default_workflow_type: 'chatty' } },
  algorithm: { algorithm_type: 'multi_step_grpo' },
};

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);

interface Finished {
  readonly digest: string;
  /** Metric lines of each role. */
  readonly lines: readonly (readonly MetricLine[])[];
}

/** Metric lines without the evaluation after train step 6, which is recorded as step 7. */
const withoutSixth = ({ digest, lines }: Finished): Finished => ({
  digest,
  lines: lines.map((role) =>
    role.filter(
      ({ step, metrics }) =>
        step !== 7 || !Object.keys(metrics).some((key) => key.startsWith('eval/')),
    ),
  ),
});

async function finished(name: string, ...over: readonly Tree[]): Promise<Finished> {
  const { lines } = await finishHere(workspace, name, ...over);
  return {
    digest: weightsDigest(job(name)),
    lines: ['explorer', 'trainer'].map((role) => lines.filter((line) => line.role === role)),
  };
}

/** Resolves as soon as the command has printed `text`; rejects when the command ends without printing it. */
function printed(command: Trinity, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    void command.ended.then(() => reject(new Error(`"${text}" is not in: ${command.output()}`)));
    const look = (): void => {
      if (!command.output().includes(text)) return;
      command.child.stdout?.off('data', look);
      resolve();
    };
    command.child.stdout?.on('data', look);
    look();
  });
}

describe('a signal', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    '%s ends the run after the step in progress, with a checkpoint from which it ends as if undisturbed',
    { timeout: 240_000 },
    async (signal) => {
      const config = workspace.config(`${signal}.yaml`, talk, { name: signal });
      const command = startTrinity(workspace.root, runArgs(config), { env });
      await printed(command, 'step 2');
      command.child.kill(signal);
      const { exitCode, stdout, stderr } = await command.ended;
      expect([exitCode, stderr]).toEqual([130, '']);
      expect(stdout).toContain(
        `${signal}: finishing the step and saving the progress. Press Ctrl-C again to stop at once.`,
      );
      const step = Number(
        /Interrupted after train step (\d+)\. The same command continues from there\.\n$/.exec(
          stdout,
        )?.[1],
      );
      expect(step).toBeGreaterThanOrEqual(2);
      expect(checkpointSteps(job(signal))).toEqual([step]);
      expect(await finished(signal, talk)).toEqual(await finished('undisturbed', talk));
    },
  );

  it('ends the run at once when it comes a second time', { timeout: 240_000 }, async () => {
    const stall = `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; const { rename } = fs.promises;
      fs.promises.rename = (from, to) => to.includes('global_step') ? (console.log('saving'), new Promise(() => {})) : rename(from, to); syncBuiltinESMExports();`;
    const command = startTrinity(
      workspace.root,
      runArgs(workspace.config('twice.yaml', talk, { name: 'twice' })),
      {
        env,
        nodeArgs: [`--import=data:text/javascript,${encodeURIComponent(stall)}`],
      },
    );
    await printed(command, 'step 1');
    command.child.kill('SIGINT');
    await printed(command, 'saving');
    // Saving never ends, so a process that waits for it would not end either.
    command.child.kill('SIGINT');
    expect((await command.ended).exitCode).toBe(130);
    expect(checkpointSteps(job('twice'))).toEqual([]);
    expect(await finished('twice', talk)).toEqual(await finished('undisturbed', talk));
  });
});

describe('an interrupt', () => {
  const stages: readonly Tree[] = [
    evalTasksets,
    twoStages,
    { explorer: { eval_on_startup: true, eval_interval: 2 } },
  ];
  const record = (name: string) =>
    ['warmup', 'grpo'].map((stage) => [
      weightsDigest(path.join(job(name), stage)),
      metricLines(path.join(job(name), stage)),
    ]);

  /** Workflow that calls `abort` at its first task of this batch. */
  const abortsAt = (batch: string, abort: () => void): WorkflowDefinition =>
    defineWorkflow({
      name: 'watched',
      run: async ({ task, model }) => {
        if (String(task.batchId) === batch) abort();
        const [answer] = await model.chat([
          { role: 'user', content: String(task.rawTask['question']) },
        ]);
        return answer!.responseText.length;
      },
    });
  const watched: Tree = { buffer: { explorer_input: { default_workflow_type: 'watched' } } };

  it.each<readonly [when: string, batch: string, printed: string]>([
    ['before the start', 'never', ''],
    ['during supervised steps', 'never', 'warmup  step 3'],
    ['during the first evaluation', '0/fresh', 'nothing'],
    ['during an explore step', '3', 'nothing'],
    ['during an evaluation on the way', '4/fresh', 'nothing'],
    ['during the last evaluation', '7/fresh', 'nothing'],
  ])(
    '%s leaves a run that ends as if undisturbed',
    { timeout: 240_000 },
    async (name, batch, printed) => {
      const config = workspace.config(`${name}.yaml`, ...stages, watched, { name });
      const interrupt = new AbortController();
      if (printed === '') interrupt.abort();
      const { summary, error } = await runHere(workspace, config, {
        signal: interrupt.signal,
        workflows: [abortsAt(batch, () => interrupt.abort())],
        terminal: {
          write: (text) => void (text.includes(printed) && interrupt.abort()),
          isTTY: false,
          columns: () => 80,
        },
      });
      expect([error, summary?.interrupted]).toEqual([undefined, true]);

      const resume = await runHere(workspace, config, {
        workflows: [abortsAt('never', () => undefined)],
      });
      expect([resume.error, resume.summary]).toEqual([
        undefined,
        expect.objectContaining({ interrupted: false, doneBefore: false, trainStep: 6 }),
      ]);

      const whole = workspace.config('whole.yaml', ...stages, watched, { name: 'whole' });
      expect(
        (await runHere(workspace, whole, { workflows: [abortsAt('never', () => undefined)] }))
          .error,
      ).toBeUndefined();
      expect(record(name)).toEqual(record('whole'));
    },
  );
});

describe('an evaluation that is interrupted again and again', () => {
  /** Workflow whose evaluations after step 4 last until the trainer waits. Then they call `atFourth`. */
  const slow = (name: string, atFourth: () => void): WorkflowDefinition =>
    defineWorkflow({
      name: 'watched',
      run: async ({ task, model }) => {
        if (String(task.batchId) === '4/fresh') {
          const status = path.join(job(name), 'status.json');
          await vi.waitFor(
            () => expect(JSON.parse(readFileSync(status, 'utf8')).waits.trainer).not.toEqual([]),
            { timeout: 60_000, interval: 50 },
          );
          atFourth();
        }
        const [answer] = await model.chat([
          { role: 'user', content: String(task.rawTask['question']) },
        ]);
        return answer!.responseText.length;
      },
    });
  const over: readonly Tree[] = [
    evalTasksets,
    {
      explorer: { eval_interval: 2 },
      trainer: { total_steps: 4, save_interval: 1, max_checkpoints_to_keep: 1 },
      buffer: {
        total_steps: 4,
        explorer_input: { default_workflow_type: 'watched' },
        trainer_input: { experience_buffer: { keep_trained_steps: 0 } },
      },
    },
  ];
  const record = (name: string) => [
    weightsDigest(job(name)),
    metricLines(job(name)).toSorted((a, b) => a.role.localeCompare(b.role) || a.step - b.step),
  ];

  it.each(['fixed', 'explorer_driven', 'trainer_driven', 'fully_async'])(
    'is made before the trainer gets its step: %s',
    { timeout: 240_000 },
    async (style) => {
      const start = async (name: string, interrupted: boolean) => {
        const synchronizer = { sync_style: style, max_staleness: 0 };
        const config = workspace.config(`${name}.yaml`, ...over, { name, synchronizer });
        const interrupt = new AbortController();
        const atFourth = () => interrupted && interrupt.abort();
        const { error, summary } = await runHere(workspace, config, {
          signal: interrupt.signal,
          workflows: [slow(name, atFourth)],
        });
        return [error, summary?.interrupted, summary?.trainStep, checkpointSteps(job(name))];
      };
      for (let i = 0; i < 3; i++)
        expect(await start(`often-${style}`, true)).toEqual([undefined, true, 3, [3]]);
      expect(await start(`often-${style}`, false)).toEqual([undefined, false, 4, [4]]);
      expect(await start(`never-${style}`, false)).toEqual([undefined, false, 4, [4]]);
      expect(record(`often-${style}`)).toEqual(record(`never-${style}`));
      const evaluated = metricLines(job(`often-${style}`)).filter(
        ({ metrics }) => 'eval/model_version' in metrics,
      );
      expect(evaluated.map(({ step }) => step)).toEqual([2, 4, 5]);
    },
  );
});

describe('a run that is complete', () => {
  it(
    'says so, trains nothing, and trains on when it becomes longer',
    { timeout: 240_000 },
    async () => {
      const six = workspace.config('complete.yaml', evalTasksets, { name: 'complete' });
      const first = await runHere(workspace, six);
      const before = [weightsDigest(job('complete')), metricLines(job('complete'))];
      const again = await startTrinity(workspace.root, runArgs(six)).ended;
      expect([again.exitCode, again.stderr]).toEqual([0, '']);
      const [said, next] = again.stdout.split('\n\nNext:\n');
      expect(said).toBe(
        `This run is complete after train step 6: ${first.summary?.checkpoint}\nRaise total_steps or total_epochs to train on, or give another run another name.`,
      );
      expect(next).toMatch(
        / trinity report runs\/tests\/complete .*\n(.*\n)* .* serve complete\.yaml /,
      );
      expect([weightsDigest(job('complete')), metricLines(job('complete'))]).toEqual(before);

      const longer = await runHere(
        workspace,
        workspace.config('longer.yaml', evalTasksets, {
          name: 'complete',
          buffer: { total_steps: 8 },
        }),
      );
      expect(longer.summary).toMatchObject({ doneBefore: false, trainStep: 8 });
      // The evaluation at the end of the shorter run stays in the metrics.
      const eight = { buffer: { total_steps: 8 } };
      expect(withoutSixth(await finished('complete', evalTasksets, eight))).toEqual(
        await finished('at once', evalTasksets, eight),
      );
    },
  );

  it('says so for stages and for supervised data as well', { timeout: 240_000 }, async () => {
    const [{ stage_name: _name, ...alone }] = twoStages['stages'] as [Tree];
    const configs = [
      workspace.config('stages.yaml', twoStages, { name: 'stages' }),
      workspace.config('alone.yaml', alone, { name: 'alone' }),
    ];
    for (const config of configs) {
      const first = await runHere(workspace, config);
      expect([first.error, first.summary?.doneBefore]).toEqual([undefined, false]);
      const second = await runHere(workspace, config);
      expect([second.error, second.summary]).toEqual([
        undefined,
        { ...first.summary, doneBefore: true },
      ]);
    }
  });
});
