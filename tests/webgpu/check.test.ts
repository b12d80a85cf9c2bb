/** The comparison that `trinity doctor gpu` and `model.device: auto` make, on SwiftShader. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { chooseDevice } from '../../packages/engine-onnx/src/choose-device.js';
import { compareNumbers } from '../../packages/engine-onnx/src/device/numbers.js';
import { tolerances } from '../../packages/engine-onnx/src/device/report.js';
import { createOnnxEngine } from '../../packages/engine-onnx/src/index.js';
import {
  noSwiftShader,
  swiftShaderEnvironment,
  useSwiftShader,
} from '../support/src/gpu/swiftshader.js';

const runtimes = {
  cpu: undefined,
  webgpu: new URL('../../packages/engine-webgpu/src/index.ts', import.meta.url).href,
};

test.skipIf(noSwiftShader)('a right GPU passes', { timeout: 300_000 }, async () => {
  await useSwiftShader();
  const scratch = await mkdtemp(path.join(tmpdir(), 'webgpu-check-'));
  try {
    const found = await compareNumbers(
      (device, tiny) => createOnnxEngine({ ...tiny, runtime: runtimes[device] }),
      { lora: false, scratch },
    );
    expect(found.unequal).toBe(0);
    // A difference of zero would mean that both sides ran on the CPU.
    for (const what of ['logprobs', 'gradients', 'weights'] as const) {
      expect(found[what]).toBeGreaterThan(0);
      expect(found[what]).toBeLessThan(tolerances[what] / 10);
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
});

test.skipIf(noSwiftShader)('a model with operators that the GPU lacks', async () => {
  const environment = await swiftShaderEnvironment();
  const before = Object.keys(environment).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, environment);
  try {
    const fixtures = new URL('../../packages/engine-onnx/test/fixtures/', import.meta.url);
    const modelPath = fileURLToPath(new URL('qwen3_5_text', fixtures));
    const choice = await chooseDevice(
      { modelPath, measure: true, report: () => {} },
      { module: () => runtimes.webgpu },
    );
    expect(choice).toEqual({
      device: 'cpu',
      why: expect.stringContaining('does not support the operator LinearAttention'),
    });
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
});
