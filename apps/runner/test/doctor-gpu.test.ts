import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { noSwiftShader, swiftShaderEnvironment } from '@trinity-rft/test-support';
import { describe, expect, it } from 'vitest';

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
  it('names what computes, and says when it is software', async () => {
    const { code, stdout } = await doctorGpu({});
    expect(stdout).toContain('google swiftshader: ');
    expect(stdout).toContain('(software: slower than the engine on the CPU)');
    expect(stdout).toContain('largest buffer            1024 MiB');
    expect(stdout).toContain('None of them is hardware.');
    expect(code).toBe(1);
  });

  it('prints JSON', async () => {
    const { stdout } = await doctorGpu({}, '--json');
    expect(JSON.parse(stdout)).toMatchObject([{ vendor: 'google', isSoftware: true }]);
  });

  it('says what is missing without a driver', async () => {
    const { code, stderr } = await doctorGpu({ VK_ICD_FILENAMES: '/nowhere.json' });
    expect(stderr).toContain('finds no GPU on this machine. It needs a Vulkan loader');
    expect(code).toBe(1);
  });
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
