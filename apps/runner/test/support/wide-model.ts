/** Second model: as in the workspace, but untrained with another seed, and with a larger context for long prompts. */
import path from 'node:path';
import { loadTokenizer, readTokenizerFiles, writeTokenizerFiles } from '@trinity-rft/chat';
import { createModelFolder } from '@trinity-rft/engine-onnx';
import type { Workspace } from './workspace.js';

export async function createWideModel(workspace: Workspace, name: string): Promise<void> {
  const [from, directory] = [path.join(workspace.root, 'model'), path.join(workspace.root, name)];
  const { vocabularySize, eosTokenIds } = await loadTokenizer(from);
  const shape = { hiddenSize: 32, layers: 1, heads: 2, kvHeads: 1, headDim: 16 };
  await createModelFolder({
    directory,
    seed: 2,
    config: { ...shape, vocabSize: vocabularySize, maxPositions: 2048, eosTokenIds },
  });
  await writeTokenizerFiles(directory, await readTokenizerFiles(from));
}
