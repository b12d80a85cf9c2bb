/** Trinity-RFT's workflows that play one world each, with the same names and arguments. */
import { taskPrompt, taskTruth, type RawTask, type Task, TaskError } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import { count } from '@trinity-rft/workflow';
import { z } from 'zod';
import type { EnvironmentArgs } from './environment-args.js';
import { judgeShape } from './judge.js';
import { type Attempts, oneAttempt, threeTags, twoAttempts } from './raft.js';

export interface NamedWorkflow {
  readonly name: string;
  /** Schema of `workflow_args`: Trinity-RFT's arguments and `environment_args`. */
  readonly args: z.ZodObject;
  /** Converts the arguments to those of `environment_workflow`. */
  readonly play: (args: Readonly<Record<string, unknown>>) => Partial<EnvironmentArgs>;
  /**
   * Converts a task to a row of the environment.
   * @default the task's row, unchanged
   * @throws TaskError if the environment cannot play the task
   */
  readonly rowOf?: (task: Task) => RawTask;
  /**
   * Makes one or more attempts at a task, and returns their experiences, of which those that are
   * not trained on are masked.
   * @default one attempt
   */
  readonly attempts?: Attempts;
  /** Trinity-RFT's arguments that have no effect here, with the reason. @default {} */
  readonly unused?: Readonly<Record<string, string>>;
}

interface NamedOptions<Shape extends z.ZodRawShape> {
  readonly name: string;
  readonly args: Shape;
  readonly play: (args: z.infer<z.ZodObject<Shape>>) => Partial<EnvironmentArgs>;
  readonly rowOf?: (task: Task) => RawTask;
  readonly attempts?: Attempts;
  readonly unused?: Readonly<Record<string, string>>;
}

/**
 * Schema of `environment_args`, with which a user sets arguments that Trinity-RFT does not have,
 * such as the level.
 */
const worldArgs = { environment_args: z.record(z.string(), z.unknown()).default({}) };

function named<Shape extends z.ZodRawShape>(options: NamedOptions<Shape>): NamedWorkflow {
  const { name, rowOf, attempts, unused = {} } = options;
  const ignored = Object.keys(unused).map((key) => [key, z.unknown().optional()] as const);
  const args = z.strictObject({ ...Object.fromEntries(ignored), ...worldArgs, ...options.args });
  return {
    name,
    args,
    rowOf,
    attempts,
    unused,
    play: (given) => {
      const { environment_args: own, ...rest } = args.parse(given) as z.infer<typeof args> & {
        readonly environment_args: Readonly<Record<string, unknown>>;
      };
      for (const key of Object.keys(unused)) delete (rest as Record<string, unknown>)[key];
      const played = options.play(rest as z.infer<z.ZodObject<Shape>>);
      return { ...played, environment_args: { ...played.environment_args, ...own } };
    },
  };
}

const frozenLake = named({
  name: 'frozen_lake_workflow',
  args: {
    env_max_steps: count().optional(),
    agent_max_steps: count().default(10),
    desc: z.array(z.string()).nullish(),
    is_slippery: z.boolean().default(false),
  },
  unused: { max_steps: 'Trinity-RFT does not read it either. Set agent_max_steps.' },
  play: ({ env_max_steps, agent_max_steps, desc, is_slippery }) => ({
    environment: 'frozen_lake',
    environment_args: { env_max_steps, is_slippery, desc: desc ?? undefined },
    max_turns: agent_max_steps,
  }),
});

const sudoku = named({
  name: 'sudoku_workflow',
  args: {},
  play: () => ({ environment: 'sudoku', environment_args: { answer: 'moves' }, max_turns: 20 }),
});

const webshop = named({
  name: 'webshop_workflow',
  args: {},
  play: () => ({
    environment: 'webshop',
    environment_args: { unfinished_reward: -0.1 },
    max_turns: 15,
  }),
  rowOf: ({ rawTask, formatArgs: { promptKey } }) =>
    'instruction' in rawTask ? rawTask : { session: rawTask['session'] ?? rawTask[promptKey] },
});

/**
 * Returns the task's row for the generated household.
 * @throws TaskError if the row names a game file of ALFWorld
 */
function householdRow({ rawTask, formatArgs: { promptKey } }: Task): RawTask {
  if ('seed' in rawTask) return rawTask;
  throw new TaskError(
    `The row names the game ${JSON.stringify(rawTask[promptKey] ?? rawTask['game_file'])}, which is ALFWorld's. This workflow plays generated households: replace path, split and format by storage_type: generated and task_count. To play ALFWorld's own games, use environment_workflow with environment: python and a Python class that opens them (kind: MODULE:FUNCTION).`,
    { code: 'TASK_ROW' },
  );
}

const householdArgs = (steps: number) => ({ max_env_steps: count().default(steps) });
const playHousehold =
  (unfinished: number) =>
  ({ max_env_steps: steps }: { readonly max_env_steps: number }) => ({
    environment: 'household',
    environment_args: { unfinished_reward: unfinished },
    max_turns: steps,
  });

const alfworld = named({
  name: 'alfworld_workflow',
  args: householdArgs(30),
  play: playHousehold(-0.1),
  rowOf: householdRow,
});

/** Trinity-RFT's step-wise ALFWorld workflow, named `alfworld_workflow_v2` in earlier examples. */
const stepWiseAlfworld = ['step_wise_alfworld_workflow', 'alfworld_workflow_v2'].map((name) =>
  named({ name, args: householdArgs(30), play: playHousehold(-0.1), rowOf: householdRow }),
);

const playRaft = (args: { readonly max_env_steps: number }) => ({
  ...playHousehold(0)(args),
  action_pattern: threeTags,
});

const raftAlfworld = named({
  name: 'RAFT_alfworld_workflow',
  args: householdArgs(50),
  play: playRaft,
  rowOf: householdRow,
  attempts: oneAttempt,
});

const raftReflectAlfworld = named({
  name: 'RAFT_reflect_alfworld_workflow',
  args: householdArgs(50),
  play: playRaft,
  rowOf: householdRow,
  attempts: twoAttempts,
});

const sciworldSchema = z.object({ task_name: z.string(), var_num: z.coerce.number().int().min(0) });

/** Parses the task from the prompt column, which contains JSON in Trinity-RFT's format. */
function sciworldTask(text: unknown): z.infer<typeof sciworldSchema> {
  const read = z.string().transform(tryJson).pipe(sciworldSchema).safeParse(text);
  if (read.success) return read.data;
  throw new TaskError(
    `The row of sciworld_workflow is ${JSON.stringify(text)}; expected JSON such as {"task_name": "find-living-thing", "var_num": 3} in the column that format.prompt_key names.`,
    { code: 'TASK_ROW' },
  );
}

const sciworldInstructions = `You do experiments in a world of text, such as: look around, open (door), go to (place), pick up (thing), move (thing) to (place), focus on (thing), use (tool) on (thing), wait.
Think, then write exactly one command as <action>look around</action>.`;

const sciworld = named({
  name: 'sciworld_workflow',
  args: {},
  play: () => ({
    environment: 'python',
    environment_args: {
      kind: 'scienceworld',
      name: 'find-living-thing',
      instructions: sciworldInstructions,
    },
    max_turns: 30,
    action_pattern: '<action>([\\s\\S]*?)</action>',
    reward: 'sum',
  }),
  rowOf: ({ rawTask, formatArgs: { promptKey } }) => {
    const { task_name: name, var_num: variation } = sciworldTask(rawTask[promptKey]);
    return { name, variation };
  },
});

/**
 * Reward rules by Trinity-RFT's names: Ra grades the content of a question; Rs grades the decision
 * to stop or continue.
 */
const scorings: Readonly<Record<string, string>> = { Ra: 'content', Rs: 'decision' };

const learnToAsk = named({
  name: 'learn2ask_workflow',
  args: {
    train_mode: z.enum(['Ra+Rs', 'Ra', 'Rs']).default('Ra+Rs'),
    fusion_mode: z.enum(['default', 'sum']).default('default'),
    ...judgeShape,
  },
  play: ({ train_mode: mode, fusion_mode: fusion, ...judge }) => ({
    environment: 'learn_to_ask',
    environment_args: { scoring: scorings[mode] ?? (fusion === 'sum' ? 'sum' : 'fused') },
    max_turns: 1,
    ...judge,
  }),
});

/**
 * Returns a row with the columns `question` and `answer`. In rows for Trinity-RFT, these columns
 * have the names that the task set's format gives for the prompt and the response.
 */
const questionRow = (task: Task): RawTask =>
  'question' in task.rawTask
    ? task.rawTask
    : { question: taskPrompt(task), answer: taskTruth(task) };

const ownDatabase = 'The database is made by this package, and needs no Docker.';

const intercodeSql = named({
  name: 'intercode_sql_workflow',
  args: { max_env_steps: count().default(10), auto_submit: z.boolean().default(true) },
  play: ({ max_env_steps: max_turns, auto_submit }) => ({
    environment: 'intercode_sql',
    environment_args: { auto_submit },
    max_turns,
  }),
  rowOf: ({ rawTask, formatArgs: { promptKey } }) => {
    if ('gold' in rawTask && 'query' in rawTask && !('query_idx' in rawTask)) return rawTask;
    throw new TaskError(
      `The row names question ${JSON.stringify(rawTask[promptKey] ?? rawTask['query_idx'])} of InterCode's MySQL databases. This workflow asks about a generated database: replace path, split and format by storage_type: generated and task_count.`,
      { code: 'TASK_ROW' },
    );
  },
  unused: { data_path: ownDatabase, image_name: ownDatabase, verbose: 'Set log.level: DEBUG.' },
});

const ownIndex = 'The pages come from an index of this package, or from environment_args.folder.';

const webSearch = named({
  name: 'agentscope_v1_react_search_workflow',
  args: { max_turns: count().default(10), ...judgeShape },
  play: (args) => ({ environment: 'web_search', ...args }),
  rowOf: questionRow,
  unused: { search_client_type: ownIndex },
});

const browseComp = named({
  name: 'bcp_simple_react_workflow',
  args: { max_iterations: count().default(30), ...judgeShape },
  play: ({ max_iterations: max_turns, ...judge }) => ({
    environment: 'web_search',
    max_turns,
    ...judge,
  }),
  rowOf: questionRow,
  unused: {
    searcher_type: ownIndex,
    index_path: ownIndex,
    browsecomp_path: ownIndex,
    top_k: 'A search shows five pages.',
    snippet_max_tokens: 'A search shows the beginning of a page.',
    include_get_document: 'Pages can always be opened.',
    max_model_tokens: 'Set model.max_model_len.',
  },
});

const emailSearch = named({
  name: 'email_search_workflow',
  args: {
    max_turns: count().default(10),
    tool_obs_char_limit: count().default(2000),
    ...judgeShape,
  },
  play: ({ max_turns, tool_obs_char_limit: observation_limit, ...judge }) => ({
    environment: 'email_search',
    environment_args: { scoring: 'rubric', max_turns, observation_limit },
    max_turns,
    ...judge,
  }),
});

/** Workflow that `agentscope_react_workflow` uses if its argument `type` is `email_search`. */
export const agentscopeEmailSearch = named({
  name: 'agentscope_react_workflow',
  args: { type: z.literal('email_search'), max_turns: count().default(10), ...judgeShape },
  play: ({ type: environment, max_turns, ...judge }) => ({
    environment,
    environment_args: { scoring: 'rubric', max_turns },
    max_turns,
    ...judge,
  }),
});

export const namedWorkflows: readonly NamedWorkflow[] = [
  alfworld,
  browseComp,
  emailSearch,
  frozenLake,
  intercodeSql,
  learnToAsk,
  raftAlfworld,
  raftReflectAlfworld,
  sciworld,
  ...stepWiseAlfworld,
  sudoku,
  webSearch,
  webshop,
];
