/** Computes the validation loss of a checkpoint. */
import { encodeConversation, type ConversationInput } from '@trinity-rft/chat';
import { describeError } from '@trinity-rft/core';
import { loadModel } from '@trinity-rft/local';
import { checkRows } from './rows.js';

/**
 * Returns the mean negative log-probability of the tokens of all responses, in nats, as in
 * training. Leaves out rows that cannot be scored, for example because they are longer than the
 * model's context.
 * @param checkpoint folder of the whole model
 * @param file file with rows of supervised fine-tuning
 * @param onSkip called with the line number and the problem of each row that is left out
 * @throws the reason of `signal` if it aborts, or an Error if no row can be scored
 */
export async function validLoss(
  checkpoint: string,
  file: string,
  signal: AbortSignal,
  onSkip: (why: string) => void,
): Promise<number> {
  const rows: (readonly [ConversationInput, number])[] = [];
  const take = (row: object, line: number) => void rows.push([row as ConversationInput, line]);
  const { count: valid, faults } = await checkRows(file, 'supervised', take, Infinity);
  if (valid === 0) throw new Error(`no row can be scored. ${faults[0]}`);
  for (const fault of faults) onSkip(fault);
  const model = await loadModel(checkpoint);
  try {
    let [sum, count] = [0, 0];
    for (const [{ messages, tools }, line] of rows) {
      signal.throwIfAborted();
      try {
        const encoded = encodeConversation(model.format, { messages, tools, trainOn: 'all' });
        const { tokens, promptLength, actionMask } = encoded;
        const logprobs = await model.score(Int32Array.from(tokens), promptLength);
        for (const [i, bit] of actionMask.entries()) {
          sum -= bit === 1 ? logprobs[i]! : 0;
          count += bit;
        }
      } catch (error) {
        onSkip(`Line ${line}: ${describeError(error)}`);
      }
    }
    if (count === 0) throw new Error('no row can be scored');
    return sum / count;
  } finally {
    await model.close();
  }
}
