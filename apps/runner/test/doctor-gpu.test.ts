import { execFile } from 'node:child_process';
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

/** In a process of its own: the environment names the driver. */
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
