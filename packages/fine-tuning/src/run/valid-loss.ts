/** Computes the validation loss of a checkpoint. */
import { encodeConversation, type ConversationInput } from '@trinity-rft/chat';
import { loadModel } from '@trinity-rft/local';
import { checkRows } from './rows.js';

/**
 * Returns the mean of -log p over the tokens of all answers, in nats, as in training.
 * @param checkpoint folder of the whole model
 * @param file file with rows of supervised fine-tuning
 * @throws the reason of `signal` when it aborts
 */
export async function validLoss(
  checkpoint: string,
  file: string,
  signal: AbortSignal,
): Promise<number> {
  const rows: ConversationInput[] = [];
  await checkRows(file, 'supervised', (row) => rows.push(row as unknown as ConversationInput));
  const model = await loadModel(checkpoint);
  try {
    let [sum, count] = [0, 0];
    for (const { messages, tools } of rows) {
      signal.throwIfAborted();
      const encoded = encodeConversation(model.format, { messages, tools, trainOn: 'all' });
      const { tokens, promptLength, actionMask } = encoded;
      const logprobs = await model.score(Int32Array.from(tokens), promptLength);
      for (const [i, bit] of actionMask.entries()) {
        sum -= bit === 1 ? logprobs[i]! : 0;
        count += bit;
      }
    }
    return sum / count;
  } finally {
    await model.close();
  }
}
