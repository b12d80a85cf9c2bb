/** Summary of a rollout: question, answer, reference answer, and the parts of the reward. */
import type { Trace } from '@trinity-rft/inspect/studio/interface';
import { TriangleAlert } from 'lucide';
import { Icon } from '../design/icon.js';
import { numberText, secondsText } from '../numbers.js';
import { problemText } from './problem-text.js';
import { words } from '../words/rollouts.js';

const { summary } = words;

export function SummaryView(trace: Trace) {
  const { question, answer, truth, problem, problemKind } = trace;
  return (
    <div class="summary">
      {problem !== undefined && (
        <div class={problemKind === 'failed' ? 'callout danger' : 'callout warning'}>
          <Icon of={TriangleAlert} />
          <p>
            {problemKind && <strong>{words.problems[problemKind]}.</strong>} {problemText(problem)}
          </p>
        </div>
      )}
      <Said title={summary.question} text={question} />
      <div class="answers">
        <Said title={summary.answer} text={answer} />
        <Said title={summary.truth} text={truth ?? summary.noTruth} isFaint={truth === undefined} />
      </div>
      <div class="score">
        <Reward {...trace} />
        <Facts {...trace} />
      </div>
    </div>
  );
}

interface SaidProps {
  readonly title: string;
  readonly text: string;
  readonly isFaint?: boolean;
}

const Said = ({ title, text, isFaint = false }: SaidProps) => (
  <div class="card quoted">
    <h3>{title}</h3>
    <div class={isFaint ? 'text faint' : 'text'} tabIndex={0} role="group" aria-label={title}>
      {text === '' ? summary.empty : text}
    </div>
  </div>
);

function Reward({ reward, parts, reasons }: Trace) {
  const names = [...new Set([...Object.keys(parts), ...Object.keys(reasons)])];
  return (
    <div class="card">
      <h3>{summary.reward}</h3>
      <p class="figure">{reward === undefined ? summary.noReward : numberText(reward)}</p>
      {names.length > 0 && (
        <dl class="parts">
          {names.map((name) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="number">{numberText(parts[name])}</dd>
              {reasons[name] !== undefined && <dd class="reason">{reasons[name]}</dd>}
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

function Facts(trace: Trace) {
  const { batch, task, run, advantage, staleness, trainStep, startedAt, seconds } = trace;
  // The batch of an evaluation contains a slash and the name of the set. Evaluations are not
  // trained on.
  const untrained = batch.includes('/') ? undefined : summary.untrained;
  const facts: Readonly<Record<string, string | undefined>> = {
    [summary.attempt]: `${batch}/${task}/${run}`,
    [summary.step]: trace.step === undefined ? undefined : String(trace.step),
    [summary.task]: trace.row === undefined ? undefined : `${trace.taskset ?? ''} ${trace.row}`,
    [summary.version]: String(trace.policyVersion),
    [summary.advantage]: numberText(advantage),
    [summary.trained]: trainStep === undefined ? untrained : String(trainStep),
    [summary.staleness]: numberText(staleness),
    [summary.tokens]: words.tokens(trace.promptTokens, trace.responseTokens),
    [summary.turns]: String(trace.turns),
    [summary.tools]: words.toolCalls(trace.tools, trace.toolCalls),
    [summary.seconds]: seconds === undefined ? undefined : secondsText(seconds),
    [summary.started]: startedAt === undefined ? undefined : new Date(startedAt).toLocaleString(),
  };
  return (
    <dl class="card facts-grid">
      {Object.entries(facts)
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
