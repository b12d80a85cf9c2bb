/**
 * Notes for the user about an adapter that is merged into weights that were already quantised, and
 * is thus rounded again.
 */
import { isGguf, ggufFileTypes, openGguf } from '@trinity-rft/chat/gguf';
import type { MergedWeights } from '@trinity-rft/engine-onnx';
import path from 'node:path';

type Beside = NonNullable<MergedWeights['beside']>;

export function roundedNotes({ quantization, model }: Beside): readonly string[] {
  const exact = `The adapter was trained beside quantised weights (model.quantization: ${quantization}), and merged they are rounded again. Recommended instead: the adapter alone, over the model that it was trained on, which stays as it is (--adapter-only).`;
  const others = isGguf(model) ? unwritten(model) : [];
  if (others.length === 0) return [exact];
  const written = ggufFileTypes.join(', ');
  return [
    exact,
    `${path.basename(model)} has matrices in ${others.join(', ')}, which cannot be written. Formats that can: ${written} (--quantize).`,
  ];
}

/** Returns the quantisation types in a GGUF file that exports cannot write. */
function unwritten(file: string): readonly string[] {
  const opened = openGguf(file);
  opened.close();
  const found = [...opened.tensors.values()].flatMap(({ type, isQuantized }) =>
    isQuantized && !ggufFileTypes.some((name) => name === type || name === `${type}_M`)
      ? [type]
      : [],
  );
  return [...new Set(found)].toSorted();
}
