/** `on_policy_distill_workflow`: a teacher computes log-probabilities of the sampled tokens. */
import { type ChatResponse, type Experience, withFields } from '@trinity-rft/core';
import { auxiliaryModel } from '../../auxiliary/find-auxiliary-model.js';
import { scoreChoice, type Score } from '../../scoring/score-response.js';
import { SimpleWorkflow } from '../single-turn/simple-workflow.js';
import { z } from 'zod';
import { readWorkflowArgs } from '../../definition/workflow-args.js';
import { auxiliaryName, positive } from '../task-args.js';
import { assertSameVocabulary } from './same-vocabulary.js';

/**
 * Schema of `workflow_args`. `teacher`: name or index of an auxiliary model. `temperature`:
 * temperature at which the teacher's log-probabilities are computed.
 */
export const distillArgs = z.strictObject({
  teacher: auxiliaryName().default(0),
  temperature: positive().default(1),
});

/**
 * Samples responses, and adds the teacher's log-probabilities of their tokens, which the loss uses.
 * The reward is reported but not trained on; it is 0 if there is no reward function.
 *
 * Metrics: the parts of the reward, and `kl_divergence`, the sum of log p(student) - log p(teacher)
 * over the response tokens.
 */
export class OnPolicyDistillWorkflow extends SimpleWorkflow {
  override async run(): Promise<readonly Experience[]> {
    const { teacher: which, temperature } = readWorkflowArgs(distillArgs, this.task.workflowArgs);
    const teacher = auxiliaryModel(this.auxiliaryModels, which);
    assertSameVocabulary(this.model, teacher);
    const responses = await this.respond();
    return this.eachOf(responses, async (response, index) => {
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
    });
  }

  /** Returns the reward of a response, and the parts of which it is the sum. */
  protected async score(response: ChatResponse): Promise<Score> {
    return this.rewardFn
      ? scoreChoice(this.rewardFn, this.task, response)
      : { reward: 0, parts: {}, reasons: {} };
  }
}

const divergence = (student: Float32Array, teacher: Float32Array): number =>
  student.reduce((sum, logprob, t) => sum + logprob - (teacher[t] ?? Number.NaN), 0);
