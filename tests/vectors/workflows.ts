// Loops of built-in workflows, and AgentScope's workflow and judge functions.
import type { Experience } from '../../packages/core/src/index.ts';
import { adapterWorkflow } from '../../packages/tuner/src/functions/adapter-workflow.ts';
import {
  defineWorkflow,
  RewardPropagationWorkflow,
  scriptedModel,
  StepWiseRewardWorkflow,
  tryWorkflow,
  type WorkflowDefinition,
  type WorkflowOutput,
} from '../../packages/workflow/src/index.ts';
import { expectSame } from './compare.ts';
import type { VectorCase } from './suite.ts';

interface LoopVector {
  readonly max_env_steps?: number;
  readonly actual_steps?: number;
  readonly final_reward?: number;
  readonly steps?: readonly number[];
  readonly rewards?: readonly number[];
  readonly 'metrics.actual_env_steps'?: number;
  readonly experiences?: number;
}

interface AdapterVector {
  readonly workflow_returns?: number;
  readonly workflow_output?: {
    readonly reward: number;
    readonly response: unknown;
    readonly metrics: Readonly<Record<string, number>>;
  };
  readonly judge_output?: {
    readonly reward: number;
    readonly metrics: Readonly<Record<string, number>>;
  };
  readonly rewards: readonly number[];
  readonly last_metrics?: Readonly<Record<string, number>>;
}

interface WorkflowVectors {
  readonly step_wise_reward?: LoopVector;
  readonly reward_propagation?: LoopVector;
  readonly stop_at_max?: LoopVector;
  readonly agentscope_adapter_v0?: AdapterVector;
  readonly agentscope_adapter_v1?: AdapterVector;
}

/** Cases of workflows. `requires_history` has no counterpart, because every run of ours is recorded. */
export function workflows(vectors: WorkflowVectors): readonly VectorCase[] {
  const {
    step_wise_reward: stepWise,
    reward_propagation: propagation,
    stop_at_max: atMost,
  } = vectors;
  const { agentscope_adapter_v0: first, agentscope_adapter_v1: second } = vectors;
  return [
    ...loops('step_wise_reward', stepWise, stepWiseLoop),
    ...loops(
      'reward_propagation',
      propagation && {
        max_env_steps: 100,
        actual_steps: propagation.steps!.length,
        ...propagation,
      },
      propagationLoop,
    ),
    ...loops('stop_at_max/step_wise', atMost, stepWiseLoop),
    ...loops('stop_at_max/propagation', atMost, propagationLoop),
    ...adapters('agentscope_adapter_v0', first),
    ...adapters('agentscope_adapter_v1', second),
  ];
}

/** Step-wise workflow in which the reward of step n is n / 10, as the vector describes. */
function stepWiseLoop({ actual_steps: steps = 0 }: LoopVector): WorkflowDefinition {
  class Loop extends StepWiseRewardWorkflow {
    async step(stepNum: number): Promise<boolean> {
      await this.ask('on');
      return stepNum + 1 < steps;
    }
    reward(_: readonly Experience[], stepNum: number): number {
      return stepNum / 10;
    }
  }
  return defineWorkflow({ name: 'loop', workflow: Loop });
}

function propagationLoop({
  actual_steps: steps = 0,
  final_reward: reward = 0,
}: LoopVector): WorkflowDefinition {
  class Loop extends RewardPropagationWorkflow {
    async step(stepNum: number): Promise<boolean> {
      await this.ask('on');
      return stepNum + 1 < steps;
    }
    reward(): number {
      return reward;
    }
  }
  return defineWorkflow({ name: 'loop', workflow: Loop });
}

function loops(
  id: string,
  vector: LoopVector | undefined,
  make: (vector: LoopVector) => WorkflowDefinition,
): readonly VectorCase[] {
  if (!vector) return [];
  const run = async (): Promise<void> => {
    const task = { workflowArgs: { max_step_num: vector.max_env_steps ?? 100 } };
    const found = (await tryWorkflow(make(vector), {
      rawTask: {},
      model: scriptedModel({ answers: () => 'x' }),
      task,
    })) as readonly Experience[];
    if (vector.experiences !== undefined)
      expectSame(found.length, vector.experiences, 0, 'experiences');
    if (vector.steps)
      expectSame(
        found.map(({ eid }) => eid.step),
        vector.steps,
        0,
        'steps',
      );
    if (vector.rewards)
      expectSame(
        found.map(({ reward }) => reward),
        vector.rewards,
        undefined,
        'rewards',
      );
    const steps = vector['metrics.actual_env_steps'];
    if (steps !== undefined)
      for (const { metrics } of found)
        expectSame(metrics['actual_env_steps'], steps, 0, 'actual_env_steps');
  };
  return [{ id: `workflows/${id}`, run }];
}

/** Cases of adapters. The reward goes to every call of the run; the metrics of both functions belong to the run. */
function adapters(id: string, vector: AdapterVector | undefined): readonly VectorCase[] {
  if (!vector) return [];
  const {
    workflow_returns: returned,
    workflow_output: output,
    judge_output: judged,
    rewards,
    last_metrics: metrics,
  } = vector;
  const run = async (): Promise<void> => {
    const definition = adapterWorkflow({
      workflowFunc: () => Promise.resolve(output ?? { reward: returned! }),
      ...(judged && { judgeFunc: () => Promise.resolve(judged) }),
    });
    const found = (await tryWorkflow(definition, {
      rawTask: {},
      model: scriptedModel({ answers: () => 'x' }),
    })) as WorkflowOutput;
    for (const reward of rewards) expectSame(found.reward, reward, undefined, 'reward');
    if (metrics) expectSame(found.metrics, metrics, undefined, 'metrics');
  };
  return [{ id: `workflows/${id}`, run }];
}
