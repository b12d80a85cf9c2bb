/**
 * Names of workflows and reward functions that Trinity-RFT has but this package does not register.
 * Each is an alias of a registered name, or is refused with a hint what to use instead.
 */

/**
 * Names that are recognised although they are not registered: aliases, and names that are refused.
 */
export interface OtherNames {
  /** Registered names, keyed by alias. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Hints what to use instead, keyed by refused name. */
  readonly refused: Readonly<Record<string, string>>;
}

const isIn = (table: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/**
 * Returns the registered name that `name` is an alias of, or undefined if `name` is not an alias.
 */
export function readAs(
  name: string,
  known: readonly string[],
  { aliases }: OtherNames,
): string | undefined {
  const alias = isIn(aliases, name);
  if (alias !== undefined || !isPythonClass(name)) return alias;
  if (!/^(?:trinity|examples)\./.test(name)) return undefined;
  const wanted = letters(classOf(name));
  return known.find((each) => letters(each) === wanted);
}

/**
 * Returns the reason why `name` is refused, with a hint what to use instead. Returns undefined for
 * an unknown name.
 */
export function refusalOf(name: string, { refused }: OtherNames): string | undefined {
  const reason = isIn(refused, name);
  if (reason !== undefined || !isPythonClass(name)) return reason;
  const byClass = Object.keys(refused).find((each) => letters(each) === letters(classOf(name)));
  return byClass === undefined ? pythonClass : refused[byClass];
}

const pythonClass =
  'It is a class of Python, which cannot be loaded here. Declare the same in TypeScript (defineWorkflow, defineReward) in a plugin and give its name; an agent that is to stay in Python runs as a program of its own (processWorkflow of @trinity-rft/process).';

/** Returns true for names such as `package.module.ClassName`. */
const isPythonClass = (name: string): boolean => /^\w+(?:\.\w+)*\.[A-Z]\w*$/.test(name);

const classOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** Converts a name to a form that is the same for `MathRewardFn` and `math_reward`. */
const letters = (name: string): string => name.replace(/Fn$/, '').replaceAll('_', '').toLowerCase();

const imageTasks =
  'Its tasks have images, but models here read text only. Use simple_workflow, and tasks of text.';
const openJudge =
  'It asks OpenJudge, a Python package. Use the workflow rubric_judge_workflow or ruler_workflow with a model of explorer.auxiliary_models, or a reward function of your own that asks a judge.';
const adapter =
  'It wraps functions that a Python program passes. Use tune of @trinity-rft/tuner, or defineWorkflow in a plugin with an adapter of @trinity-rft/agentscope.';

/**
 * Names of workflows that occur in Trinity-RFT 0.6.0, in its examples, or in its repository after
 * that release.
 */
export const otherWorkflows: OtherNames = {
  aliases: {
    bots_ref_eval_collect_math_boxed_workflow: 'bots_math_boxed_workflow',
    'trinity.common.workflows.rubric_judge_workflow.RubricJudgeWorkflowWithAPI':
      'rubric_judge_openai_workflow',
  },
  refused: {
    agentscope_workflow_adapter: adapter,
    agentscope_workflow_adapter_v1: adapter,
    async_simple_mm_workflow: imageTasks,
    simple_mm_workflow: imageTasks,
    thinking_budget_workflow:
      'No text is ever put into an answer here, as its end of thoughts is. Use simple_workflow, and bound the whole answer: rollout_args.max_tokens of the task set; enable_thinking: false of the model leaves the thoughts out.',
  },
};

/** Names of reward functions from the same sources as {@link otherWorkflows}. */
export const otherRewards: OtherNames = {
  aliases: {},
  refused: {
    math_boxed_reward_naive_dapo:
      'It belongs to an example. Use math_dapo_reward with reward_fn_args: { checker: trinity }, which compares in the same way.',
    math_boxed_reward_prime_math:
      'It belongs to an example. Use math_boxed_reward, whose checker reads LaTeX.',
    openjudge_multi_grader_reward: openJudge,
    openjudge_reward: openJudge,
    openjudge_trajectory_accuracy_reward: openJudge,
    trajectory_accuracy_grader_reward: openJudge,
  },
};
