/** Creates model folders with bfloat16 weights, as public models have. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

type Header = Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>;

/** Copies a folder with float32 weights, and rounds each weight to the nearest bfloat16. */
export function halfPrecision(from: string, to: string): string {
  cpSync(from, to, { recursive: true });
  rmSync(path.join(to, 'manifest.json'), { force: true });
  const config = JSON.parse(readFileSync(path.join(to, 'config.json'), 'utf8')) as object;
  const halved = { ...config, dtype: 'bfloat16', torch_dtype: 'bfloat16' };
  writeFileSync(path.join(to, 'config.json'), JSON.stringify(halved));
  const file = path.join(to, 'model.safetensors');
  const bytes = readFileSync(file);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const { __metadata__: _about, ...tensors } = JSON.parse(
    bytes.subarray(8, start).toString(),
  ) as Header & { __metadata__?: unknown };
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => {
      const [begin, end] = tensor.data_offsets;
      return [name, { ...tensor, dtype: 'BF16', data_offsets: [begin / 2, end / 2] }];
    }),
  );
  const words = new Uint32Array(
    bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length),
  );
  const halves = Uint16Array.from(words, (word) => (word + 0x7fff + ((word >>> 16) & 1)) >>> 16);
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(file, Buffer.concat([length, text, Buffer.from(halves.buffer)]));
  return to;
}
