/**
 * `on_policy_distill_workflow`: the model answers, and a teacher says how likely each of its tokens
 * was.
 */
import { withFields, type ChatResponse, type Experience } from '@trinity-rft/core';
import { auxiliaryModel } from '../../auxiliary/find-auxiliary-model.js';
import { scoreChoice, type Score } from '../../scoring/score-response.js';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';
import type { AgentModel } from '../../definition/types.js';
import { positiveArg, wrongArg } from '../arguments/workflow-args.js';
import { assertSameVocabulary } from './same-vocabulary.js';

/**
 * `workflow_args`: `teacher` (name or place of an auxiliary model; the first), `temperature` at
 * which the teacher scores (1). The reward is that of the reward function if the task names one,
 * else 0: what is learned are the teacher's log-probabilities.
 *
 * Metrics: `kl_divergence` = sum over response tokens of (student - teacher), and the parts of the
 * reward.
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
        return withFields(
          this.experienceOf(response, index, { reward, metrics: { ...parts, ...kl } }),
          { teacherLogprobs },
        );
      }),
    );
  }

  /** Reward and metrics of an answer; the teacher's opinion does not depend on them. */
  protected async score(response: ChatResponse): Promise<Score> {
    return this.rewardFn
      ? scoreChoice(this.rewardFn, this.task, response)
      : { reward: 0, parts: {} };
  }

  #teacher(): AgentModel {
    const which = this.task.workflowArgs['teacher'] ?? 0;
    if (typeof which !== 'string' && typeof which !== 'number')
      throw wrongArg('teacher', which, 'a name or a place in explorer.auxiliary_models');
    return auxiliaryModel(this.auxiliaryModels, which);
  }
}

const divergence = (student: Float32Array, teacher: Float32Array): number =>
  student.reduce((sum, logprob, t) => sum + logprob - teacher[t]!, 0);
