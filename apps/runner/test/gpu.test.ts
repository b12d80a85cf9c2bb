/** Tests that a run on a GPU learns as on the CPU, and resumes to the same bytes after it was killed. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { noSwiftShader, swiftShaderEnvironment } from '@trinity-rft/test-support';
import { describe, expect, it } from 'vitest';
import { checkpointSteps, metricLines, usedRows, weightsDigest } from './support/run-record.js';
import { killedTrinity, runArgs, startTrinity, type KillPoint } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

const onGpu: Tree = {
  model: { device: 'webgpu' },
  buffer: { total_steps: 3 },
  trainer: { save_interval: 1 },
};

/** Kill point after the second optimizer step, before its experiences are marked as used. */
const secondStep: KillPoint = { call: 'commit', match: '', nth: 5, when: 'before' };

function recordOf({ root }: Workspace, name: string) {
  const job = path.join(root, 'runs/tests', name);
  const steps = checkpointSteps(job);
  const moments = path.join(job, `global_step_${steps.at(-1)}`, 'optimizer/moments.safetensors');
  const lines = metricLines(job);
  const trainer = lines.filter(({ role }) => role === 'trainer');
  return {
    steps,
    weights: weightsDigest(job),
    moments: readFileSync(moments, 'base64'),
    trainer,
    norms: trainer.map(({ metrics }) => metrics['actor/grad_norm']),
    explorer: lines.filter(({ role }) => role === 'explorer'),
    rows: usedRows(path.join(job, 'buffer/experience_buffer.db')).map(({ trainStep }) => trainStep),
  };
}

/** Train step of each of the 16 experiences of an explore step; undefined if they are unused. */
const used = (step: number | undefined) => Array.from({ length: 16 }, () => step);

const rewards = ({ explorer }: ReturnType<typeof recordOf>) =>
  explorer.flatMap(({ metrics }) => metrics['rollout/reward/mean'] ?? []);

describe.skipIf(noSwiftShader)(`a run on a GPU ${noSwiftShader ?? ''}`, () => {
  it('learns as on the CPU', async () => {
    const workspace = await createWorkspace();
    const env = await swiftShaderEnvironment();
    const on = async (device: 'cpu' | 'webgpu') => {
      const file = workspace.config(`${device}.yaml`, onGpu, { name: device, model: { device } });
      const { exitCode } = await startTrinity(workspace.root, runArgs(file), { env }).ended;
      expect(exitCode).toBe(0);
      return recordOf(workspace, device);
    };
    const [cpu, gpu] = await Promise.all([on('cpu'), on('webgpu')]);
    expect(rewards(cpu)).toHaveLength(3);
    expect(rewards(gpu)).toEqual(rewards(cpu));
    for (const [step, norm] of gpu.norms.entries())
      expect(norm! / cpu.norms[step]!).toBeCloseTo(1, 4);
  });

  it('ends with the same bytes after it was killed', async () => {
    const workspace = await createWorkspace();
    const env = await swiftShaderEnvironment();
    const args = (name: string) => runArgs(workspace.config(`${name}.yaml`, onGpu, { name }));
    const run = (name: string) => startTrinity(workspace.root, args(name), { env }).ended;
    const [whole, killed] = await Promise.all([
      run('whole'),
      killedTrinity(workspace.root, args('killed'), secondStep, env),
    ]);
    expect(whole).toMatchObject({ exitCode: 0 });
    expect(killed.signal).toBe('SIGKILL');
    expect(recordOf(workspace, 'killed').rows).toEqual([...used(1), ...used(undefined)]);
    expect(await run('killed')).toMatchObject({ exitCode: 0 });
    const [found, expected] = [recordOf(workspace, 'killed'), recordOf(workspace, 'whole')];
    expect(found).toEqual(expected);
    expect(expected.rows).toEqual([1, 2, 3].flatMap(used));
    expect(expected.norms.every((norm) => norm! > 0)).toBe(true);
  });
});
