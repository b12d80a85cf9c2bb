/** Rules for rollouts, tools, environments and judges that fail or take too long. */
import { percent, short, stepsOf } from '../evidence/format.js';
import type { Rule } from '../evidence/rule.js';
import { recently, recentShare, recentSteps } from '../evidence/series.js';
import { shareRule } from './counts.js';

const [failedShare, toolShare, malformedShare, turnsShare] = [0.05, 0.5, 0.2, 0.5];
const unreadShare = 0.5;
const [judgeShare, expiredShare, slowFactor, slowSeconds] = [0.2, 0.2, 10, 10];
const [forkShare, leastForks] = [0.5, 0.2];

const endings = [
  'ok',
  'failed',
  'timed_out',
  'prompt_too_long',
  'environment_failed',
  'environment_crashed',
  'service_failed',
];
const allRuns = endings.map((name) => `rollout/runs/${name}`);
const seeLog = '"trinity log RUN --warnings" names the errors.';

const failingRuns = shareRule({
  name: 'failing-runs',
  title: 'Runs of the workflow throw',
  when: `at least ${percent(failedShare)} of the runs of recent steps failed (rollout/runs/failed, failure_rewarded)`,
  advice: `${seeLog} Such runs are left out of training or get a fixed reward, so hard tasks may never be learned.`,
  counted: ['rollout/runs/failed', 'rollout/runs/failure_rewarded'],
  outOf: allRuns,
  atLeast: failedShare,
  says: (steps) => `of the runs of ${steps} failed`,
});

const timeouts = shareRule({
  name: 'timeouts',
  title: 'Runs reach their deadline',
  when: `attempts that timed out are at least ${percent(failedShare)} of the number of runs of recent steps (rollout/attempts/timed_out)`,
  advice: `Raise explorer.max_timeout, let the agent take fewer turns, or give slow tools a deadline of their own. ${seeLog}`,
  counted: ['rollout/attempts/timed_out'],
  outOf: allRuns,
  atLeast: failedShare,
  says: (steps) => `as many attempts as there are runs in ${steps} timed out`,
});

const brokenEnvironments = shareRule({
  name: 'broken-environments',
  title: 'Environments break',
  when: `runs and attempts that an environment ended by failing are at least ${percent(failedShare)} of the number of runs of recent steps (rollout/{runs,attempts}/environment_failed, rollout/runs/environment_crashed)`,
  advice: `Look at the server or process of the environment and its limits (sessions, memory); "trinity env test" tries it alone. ${seeLog}`,
  counted: [
    'rollout/attempts/environment_failed',
    'rollout/runs/environment_failed',
    'rollout/runs/environment_crashed',
  ],
  outOf: allRuns,
  atLeast: failedShare,
  says: (steps) => `as many environments as there are runs in ${steps} failed`,
});

const failingServices = shareRule({
  name: 'failing-services',
  title: 'Tools or services cannot be reached',
  when: `at least ${percent(failedShare)} of the runs of recent steps ended because a tool, a service or the reward function hung or could not be reached (rollout/runs/service_failed)`,
  advice: `Look at the service or reward function, its rate limits and its deadline. ${seeLog}`,
  counted: ['rollout/runs/service_failed'],
  outOf: allRuns,
  atLeast: failedShare,
  says: (steps) => `of the runs of ${steps} lost a tool or service`,
});

const failingTools = shareRule({
  name: 'failing-tools',
  title: 'Tools answer with errors',
  when: `at least ${percent(toolShare)} of the tool calls of recent steps returned an error (rollout/tool_errors per rollout/tool_calls), while the reward is not near its highest`,
  advice:
    'Read such a conversation: does the tool fail, or is it called wrongly? Describe its arguments in the prompt, and check that it works where the explorer runs.',
  counted: ['rollout/tool_errors/mean'],
  outOf: ['rollout/tool_calls/mean'],
  atLeast: toolShare,
  says: (steps) => `of the tool calls of ${steps} returned an error`,
  rollouts: { sort: 'reward' },
  unlessSolved: true,
});

const malformedCalls = shareRule({
  name: 'malformed-tool-calls',
  title: 'Tool calls cannot be parsed',
  when: `at least ${percent(malformedShare)} of the tool calls of recent steps could not be parsed (rollout/model/malformed_tool_calls)`,
  advice:
    'A token limit may cut calls off, or tool_call_parser is of a similar syntax ("trinity config check" compares it with the chat template). Models that have never seen such calls need worked examples (sft) first.',
  counted: ['rollout/model/malformed_tool_calls/mean'],
  outOf: ['rollout/model/malformed_tool_calls/mean', 'rollout/model/tool_calls/mean'],
  atLeast: malformedShare,
  says: (steps) => `of the tool calls of ${steps} could not be parsed`,
  rollouts: { sort: 'reward' },
});

const unreadCalls = shareRule({
  name: 'unread-tool-calls',
  title: 'Tool calls stay text',
  when: `at least ${percent(unreadShare)} of the tool calls of recent steps were in the syntax of the chat template, which the parser does not read (rollout/model/unread_tool_calls), while the reward is not near its highest`,
  advice:
    'Set explorer.rollout_model.tool_call_parser: auto. Leave it as it is if the agent reads calls from the text itself.',
  explains: ['reward-floor', 'no-variance', 'identical-answers', 'no-gradient'],
  counted: ['rollout/model/unread_tool_calls/mean'],
  outOf: ['rollout/model/unread_tool_calls/mean', 'rollout/model/tool_calls/mean'],
  atLeast: unreadShare,
  says: (steps) => `of the tool calls of ${steps} were left in the text`,
  rollouts: { sort: 'reward' },
  unlessSolved: true,
});

const outOfTurns = shareRule({
  name: 'out-of-turns',
  title: 'Agents run out of turns',
  when: `at least ${percent(turnsShare)} of the runs of recent steps used all their turns (rollout/out_of_turns)`,
  advice:
    'Raise the limit of turns, say in the prompt how many there are, or reward an earlier end. Where the agent repeats itself, look at what the tool answers.',
  counted: ['rollout/out_of_turns/mean'],
  atLeast: turnsShare,
  says: (steps) => `of the runs of ${steps} used all their turns`,
  rollouts: { sort: 'responseTokens', descending: true },
});

const judgeFails: Rule = {
  name: 'judge-fails',
  title: 'The judge gives no score',
  when: `at least ${percent(judgeShare)} of the runs of recent steps failed because the judge gave no verdict (rollout/runs/judge_failed), or less than ${percent(1 - judgeShare)} of the answers were scored (rollout/judge_success)`,
  advice:
    'Read what the judge answered (a failed run has it in its error): the judge must be reachable, its prompt must ask for the form that is parsed, and its limit of tokens must leave room for it.',
  explains: ['failing-runs'],
  look: (run) => {
    const failed = recentShare(run, 'explorer', ['rollout/runs/judge_failed'], allRuns);
    if (failed && failed.value >= judgeShare)
      return {
        text: `The judge gave no verdict in ${percent(failed.value)} of the runs of ${stepsOf(failed)}.`,
        numbers: [failed],
      };
    const seen = recently(run, 'explorer', 'rollout/judge_success/mean');
    if (!seen || seen.value >= 1 - judgeShare) return undefined;
    return {
      text: `The judge scored ${percent(seen.value)} of the answers of ${stepsOf(seen)}.`,
      numbers: [seen],
      rollouts: { sort: 'reward' },
    };
  },
};

const rewardsExpire = shareRule({
  name: 'late-rewards-expire',
  title: 'Late rewards do not come in time',
  when: `at least ${percent(expiredShare)} of the runs of recent steps that waited for a reward passed their deadline (rollout/late_rewards/expired)`,
  advice:
    'Raise the deadline of late rewards, or look at what should send them ("trinity reward RUN" lists the runs that wait).',
  counted: ['rollout/late_rewards/expired'],
  outOf: ['rollout/late_rewards/expired', 'rollout/late_rewards/scored'],
  atLeast: expiredShare,
  says: (steps) => `of the runs of ${steps} that waited for a reward got none`,
});

const slowTasks: Rule = {
  name: 'slow-tasks',
  title: 'A few tasks hold up every step',
  when: `in recent steps the slowest task took at least ${slowFactor} times as long as the mean of all, and at least ${slowSeconds} seconds (rollout/time/task_execution)`,
  advice:
    'Set explorer.over_rollout or dynamic_timeout so that a step does not wait for the slowest, or leave out what makes these tasks slow.',
  look: (run) => {
    const slowest = recently(run, 'explorer', 'rollout/time/task_execution/max');
    const usual = recently(run, 'explorer', 'rollout/time/task_execution/mean');
    if (!slowest || !usual || slowest.value < slowSeconds) return undefined;
    if (slowest.value < slowFactor * usual.value) return undefined;
    return {
      text: `In ${stepsOf(slowest)} the slowest task took ${short(slowest.value)} s on average, all of them ${short(usual.value)} s.`,
      numbers: [slowest, usual],
      rollouts: { sort: 'responseTokens', descending: true },
    };
  },
};

const brokenConversations: Rule = {
  name: 'broken-conversations',
  title: 'Turns do not continue the recorded conversation',
  when: `at least ${percent(forkShare)} of the later calls of recent steps could not continue their conversation (rollout/model/fork per fork and spliced), and at least ${leastForks} per run`,
  advice:
    'The agent rewrites its history (removes reasoning, trims, changes old messages), so every call is trained separately and costs its whole prompt. Append messages instead; fork/REASON says what was changed.',
  look: (run) => {
    const forks = run
      .names('explorer')
      .filter((name) => /^rollout\/model\/fork\/.+\/mean$/.test(name));
    const spliced = 'rollout/model/spliced/mean';
    const seen = recentShare(run, 'explorer', forks, [...forks, spliced]);
    if (!seen || seen.value < forkShare) return undefined;
    const { steps, sumOf } = recentSteps(run, 'explorer', [...forks, spliced]);
    const perRun = sumOf(forks) / steps.length;
    if (perRun < leastForks) return undefined;
    return {
      text: `${percent(seen.value)} of the later calls of ${stepsOf(seen)} began anew, ${short(perRun)} per run.`,
      numbers: [seen],
      rollouts: { sort: 'promptTokens', descending: true },
    };
  },
};

export const runRules: readonly Rule[] = [
  failingRuns,
  timeouts,
  brokenEnvironments,
  failingServices,
  failingTools,
  malformedCalls,
  unreadCalls,
  brokenConversations,
  outOfTurns,
  slowTasks,
  judgeFails,
  rewardsExpire,
];
