/**
 * Checks that a teacher and a student have the same vocabulary, so that the teacher can score the
 * student's tokens.
 */
import { ConfigError } from '@trinity-rft/core';
import type { Vocabulary } from '@trinity-rft/core/internal';
import type { AgentModel } from '../../definition/types.js';

/** Cache of the pairs of vocabularies that have passed the check, which compares every token. */
const compatible = new WeakMap<Vocabulary, WeakSet<Vocabulary>>();

/**
 * Checks that the teacher has every token of the student under the same id. The teacher may have
 * further tokens. A remote teacher is not checked, because its vocabulary is unknown.
 * @throws ConfigError naming the first token that differs
 */
export function assertSameVocabulary(
  student: Pick<AgentModel, 'modelPath' | 'vocabulary'>,
  teacher: Pick<AgentModel, 'modelPath' | 'vocabulary'>,
): void {
  const [own, other] = [student.vocabulary, teacher.vocabulary];
  if (!own || !other || own === other || compatible.get(own)?.has(other)) return;
  for (let id = 0; id < own.size; id++) {
    const token = own.token(id);
    if (token === undefined || token === other.token(id)) continue;
    throw new ConfigError(
      `The teacher "${teacher.modelPath}" has another tokenizer than "${student.modelPath}": ` +
        `token ${id} of ${own.size} is ${JSON.stringify(token)} for the model and ` +
        `${JSON.stringify(other.token(id)) ?? 'missing'} for the teacher, ` +
        `which has ${other.size} tokens. ` +
        'Use a teacher of the same model family.',
      { code: 'VOCABULARY_MISMATCH', details: { id } },
    );
  }
  const known = compatible.get(own) ?? new WeakSet();
  compatible.set(own, known.add(other));
}
