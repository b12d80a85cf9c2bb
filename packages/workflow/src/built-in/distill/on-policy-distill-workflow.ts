/** `on_policy_distill_workflow`: a teacher computes log-probabilities of the sampled tokens. */
import { type ChatResponse, type Experience } from '@trinity-rft/core';
import { withFields } from '@trinity-rft/core/internal';
import { auxiliaryModel } from '../../auxiliary/find-auxiliary-model.js';
import { scoreChoice, type Score } from '../../scoring/score-response.js';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';
import type { AgentModel } from '../../definition/types.js';
import { positiveArg, invalidArg } from '../task-args.js';
import { assertSameVocabulary } from './same-vocabulary.js';

/**
 * `workflow_args`: `teacher` (name or position of an auxiliary model; the first), `temperature` of
 * the teacher (1). Training uses the log-probabilities of the teacher; the reward, 0 without a
 * reward function, is for information.
 *
 * Metrics: `kl_divergence`, the sum over the response tokens of log p(student) - log p(teacher),
 * and the parts of the reward.
 */
export class OnPolicyDistillWorkflow extends SimpleWorkflow {
  override async run(): Promise<readonly Experience[]> {
    const teacher = this.#teacher();
    assertSameVocabulary(this.model, teacher);
    const temperature = positiveArg(this.task, 'temperature', 1);
    const responses = await this.respond();
    return Promise.all(
      responses.map(async (response, index) => {
        const [teacherLogprobs, { reward, parts }] = await Promise.all([
          teacher.logprobs(response.tokens, response.promptLength, {
            temperature,
            signal: this.signal,
          }),
          this.score(response),
        ]);
        const kl = { kl_divergence: divergence(response.logprobs, teacherLogprobs) };
        const score = { reward, metrics: { ...parts, ...kl } };
        return withFields(this.experienceOf(response, index, score), { teacherLogprobs });
      }),
    );
  }

  /** Reward and metrics of an answer. */
  protected async score(response: ChatResponse): Promise<Score> {
    return this.rewardFn
      ? scoreChoice(this.rewardFn, this.task, response)
      : { reward: 0, parts: {} };
  }

  #teacher(): AgentModel {
    const which = this.task.workflowArgs['teacher'] ?? 0;
    if (typeof which !== 'string' && typeof which !== 'number')
      throw invalidArg('teacher', which, 'a name or a position in explorer.auxiliary_models');
    return auxiliaryModel(this.auxiliaryModels, which);
  }
}

const divergence = (student: Float32Array, teacher: Float32Array): number =>
  student.reduce((sum, logprob, t) => sum + logprob - (teacher[t] ?? Number.NaN), 0);
