/** Writes a folder for transformers.js, for Node.js and browsers. */
import { saveTransformersJs, type TransformersDtype } from '@trinity-rft/engine-onnx';
import type { TargetInput, Written } from './target.js';

export async function writeTransformersJs({
  from,
  folder,
  numbers,
  signal,
}: TargetInput): Promise<Written> {
  await saveTransformersJs({
    from,
    to: folder,
    dtypes: [numbers.name as TransformersDtype],
    signal,
  });
  return { file: '.', notes: [] };
}
