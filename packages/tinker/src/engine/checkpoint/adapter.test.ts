import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { create } from 'tar';
import { expect, it, onTestFinished } from 'vitest';
import type { Connection } from '../http/connection.js';
import { fetchAdapter } from './adapter.js';

function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-adapter-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

it('an adapter whose configuration names no modules gets the names of its tensors', async () => {
  const [cwd, directory] = [temporaryFolder(), temporaryFolder()];
  const tensor = { dtype: 'F32', shape: [1, 1], data_offsets: [0, 4] };
  const header = JSON.stringify({
    'l.q_proj.lora_A.weight': tensor,
    'l.q_proj.lora_B.weight': tensor,
  });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const weights = Buffer.concat([length, Buffer.from(header), Buffer.alloc(4)]);
  writeFileSync(path.join(cwd, 'adapter_model.safetensors'), weights);
  writeFileSync(path.join(cwd, 'adapter_config.json'), '{"r": 1}');
  const files = ['adapter_config.json', 'adapter_model.safetensors'];
  const bytes = await buffer(create({ cwd, gzip: true }, files));
  const connection = { send: async () => ({ status: 200, bytes }) } as unknown as Connection;

  const adapter = await fetchAdapter(connection, { modelId: 'm', name: 'n' }, directory);
  expect(adapter.rank).toBe(1);
  const config: unknown = JSON.parse(
    readFileSync(path.join(directory, 'adapter_config.json'), 'utf8'),
  );
  expect(config).toEqual({ r: 1, target_modules: ['q_proj'] });
});
