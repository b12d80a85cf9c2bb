/** Whether a teacher can score what a student said: the same ids have to be the same tokens. */
import { ConfigError, type Vocabulary } from '@trinity-rft/core';
import type { AgentModel } from '../../definition/types.js';

/** Pairs that were found to agree: looking at every token takes a while. */
const agreed = new WeakMap<Vocabulary, WeakSet<Vocabulary>>();

/**
 * Every token of the student has to be there under the same id; the teacher may have more. A remote
 * teacher, whose tokens are not known here, is believed. @throws ConfigError naming the first token
 * that differs
 */
export function assertSameVocabulary(
  student: Pick<AgentModel, 'modelPath' | 'vocabulary'>,
  teacher: Pick<AgentModel, 'modelPath' | 'vocabulary'>,
): void {
  const [own, other] = [student.vocabulary, teacher.vocabulary];
  if (!own || !other || own === other || agreed.get(own)?.has(other)) return;
  for (let id = 0; id < own.size; id++) {
    const token = own.token(id);
    if (token === undefined || token === other.token(id)) continue;
    throw new ConfigError(
      `The teacher "${teacher.modelPath}" has another tokenizer than "${student.modelPath}": token ${id} of ${own.size} is ${JSON.stringify(token)} to the model and ${JSON.stringify(other.token(id)) ?? 'nothing'} to the teacher, which has ${other.size}. A teacher scores the very tokens of the model: use one of the same family.`,
      { code: 'VOCABULARY_MISMATCH', details: { id } },
    );
  }
  const known = agreed.get(own) ?? new WeakSet();
  agreed.set(own, known.add(other));
}
