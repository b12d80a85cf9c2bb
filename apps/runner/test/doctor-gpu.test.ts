import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { readDeviceModel } from '@trinity-rft/launcher';
import { noSwiftShader, swiftShaderEnvironment } from '@trinity-rft/test-support';
import { describe, expect, it } from 'vitest';
import { createWorkspace, twoStages, type Tree } from './support/workspace.js';

const trinity = path.join(import.meta.dirname, '../../../tools/trinity');

interface Answer {
  readonly code?: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command in a separate process, because the environment names the driver. */
async function doctorGpu(over: Record<string, string>, ...given: string[]): Promise<Answer> {
  const env = { ...process.env, ...(await swiftShaderEnvironment()), ...over };
  return promisify(execFile)(trinity, ['doctor', 'gpu', ...given], { env }).catch(
    (error: unknown) => error as Answer,
  );
}

describe.skipIf(noSwiftShader)(`trinity doctor gpu ${noSwiftShader ?? ''}`, () => {
  it('compares what it finds with the CPU', { tags: 'slow' }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'doctor-'));
    try {
      const { code, stdout, stderr } = await doctorGpu({ XDG_CACHE_HOME: folder });
      expect(stdout).toContain('google swiftshader: ');
      expect(stdout).toContain('largest buffer            1024 MiB');
      expect(stdout).toMatch(/ {2}gradients, relative +\d\.\de-\d, at most 1e-4\n/);
      expect(stdout).toMatch(
        /A step of qwen3 with 21,632 weights takes \d+ ms on the CPU; on swift/,
      );
      expect(stdout).toContain('model.device: auto uses cpu.\n');
      expect(stderr).toContain('Measuring the same step on the GPU.');
      expect(code).toBe(1);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('says what is missing without a driver', async () => {
    const { code, stdout, stderr } = await doctorGpu({ VK_ICD_FILENAMES: '/nowhere.json' });
    expect(stderr).toContain('finds no GPU on this machine. It needs a Vulkan loader');
    expect(stdout).toBe('');
    expect(code).toBe(1);
  });
});

it('says that only the first of several stages is measured', async () => {
  const workspace = await createWorkspace();
  const linesFor = async (name: string, over: Tree): Promise<readonly string[]> => {
    const lines: string[] = [];
    await readDeviceModel({
      configPath: workspace.config(name, over),
      cwd: workspace.root,
      pluginDirs: ['plugins'],
      report: (line) => lines.push(line),
    });
    return lines;
  };
  expect(await linesFor('one.yaml', {})).toEqual([]);
  expect(await linesFor('two.yaml', twoStages)).toEqual([
    expect.stringMatching(/two\.yaml has 2 stages: the model of the first one is measured\./),
  ]);
});

const fixtures = path.join(import.meta.dirname, '../../../packages/engine-onnx/test/fixtures');

it('config check refuses model.device: webgpu for operators that the GPU lacks', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'device-'));
  try {
    await mkdir(path.join(folder, 'model'));
    await cp(
      path.join(fixtures, 'qwen3_5_text/config.json'),
      path.join(folder, 'model/config.json'),
    );
    await writeFile(
      path.join(folder, 'run.yaml'),
      `mode: both
model: { model_path: model, device: webgpu }
algorithm: { algorithm_type: grpo, repeat_times: 2 }
buffer:
  batch_size: 1
  total_steps: 1
  explorer_input:
    taskset: { path: tasks.jsonl }
    default_workflow_type: simple_workflow
    default_reward_fn_type: exact_match_reward
`,
    );
    await writeFile(path.join(folder, 'tasks.jsonl'), '{"question": "1+1=", "answer": "2"}\n');
    const { stdout, stderr } = await promisify(execFile)(trinity, ['config', 'check', 'run.yaml'], {
      cwd: folder,
    }).catch((error: unknown) => error as Answer);
    expect(stdout + stderr).toContain(
      'model.model_path: The WebGPU runtime does not support the operator LinearAttention',
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
