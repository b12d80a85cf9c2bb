import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

test('only this folder imports ONNX Runtime, and the interface imports no encoder', () => {
  const root = join(import.meta.dirname, '..');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  const importing = files.filter((file) =>
    readFileSync(join(root, file), 'utf8').includes("from 'onnxruntime-node'"),
  );
  expect(importing.filter((file) => !file.startsWith('runtime'))).toEqual([]);
  expect(readFileSync(join(root, 'runtime/graph-runtime.ts'), 'utf8')).not.toContain('schema.js');
});
