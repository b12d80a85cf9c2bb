/** Runs the prompts of a check in the embedded engine, which is also the training engine. */
import type { ChatFormat } from '@trinity-rft/chat';
import type { Engine } from '@trinity-rft/core/engine';
import { openTogether } from '@trinity-rft/core/support';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import type { Player } from './player.js';

/**
 * Opens the model of `folder` in the embedded engine.
 * @throws CheckpointError if the folder cannot be used
 */
export function embeddedPlayer(folder: string, format: ChatFormat): Promise<Player> {
  return openTogether(async (stack) => {
    const engine = await createOnnxEngine({ modelPath: folder });
    stack.use(engine);
    await engine.trainer.publish(0);
    await engine.sampler.adopt({ kind: 'published' }, 0);
    return playerOver(engine, format);
  });
}

function playerOver(engine: Engine, format: ChatFormat): Player {
  const { trainer, sampler } = engine;
  const { tokenizer } = format;
  return {
    render: (prompt) => format.render(prompt),
    encode: (text) => format.encode(text),
    decode: (ids) => tokenizer.decode(ids, { skip: tokenizer.specialTokenIds }),
    score: async (tokens) => {
      const { logprobs } = await trainer.forward({
        rows: [{ tokens, promptLength: 1, temperature: 1 }],
      });
      return { logprobs: Float64Array.from(logprobs) };
    },
    greedy: async (ids, mostTokens) => {
      const maxTokens = Math.min(mostTokens, sampler.maxModelLen - ids.length);
      const { stopTokenIds } = format;
      const options = { temperature: 0, maxTokens, stopTokenIds, seed: 0 };
      const [answer] = await sampler.sample(ids, options);
      const tokens = answer?.tokens ?? new Int32Array();
      return stopTokenIds.includes(tokens.at(-1) ?? -1) ? tokens.slice(0, -1) : tokens;
    },
    close: () => engine.close(),
  };
}
