/** Page of the findings about a run, with curves and rollouts as evidence. */
import type { Diagnosis as Answer } from '@trinity-rft/inspect/studio/interface';
import { CircleCheck, Stethoscope, TriangleAlert, Wrench } from 'lucide';
import { Fragment } from 'preact';
import { Help } from '../design/help.js';
import { Icon } from '../design/icon.js';
import { Empty, Problem, Skeleton } from '../design/states.js';
import { numberText } from '../numbers.js';
import { useRunAnswer } from '../parts/use-answers.js';
import { addressOf, type PageProps } from '../place.js';
import { words } from '../words/diagnosis.js';
import { words as frame } from '../words/frame.js';

type Finding = Answer['findings'][number];

export function Diagnosis({ place, run }: PageProps) {
  const [id] = place.runs;
  const { answer, problem } = useRunAnswer<Answer>(id, run, 'diagnosis');
  if (id === undefined) return <Empty icon={Stethoscope} title={words.choose} />;
  return (
    <section aria-label={frame.pages.diagnosis}>
      {problem !== undefined && <Problem text={problem} />}
      {!answer && problem === undefined && <Skeleton lines={8} />}
      {answer && <Verdict answer={answer} />}
      <div class="found">
        {answer?.findings.map((finding) => (
          <Found key={finding.name} run={id} finding={finding} />
        ))}
      </div>
    </section>
  );
}

function Verdict({ answer: { findings, rules, rollouts } }: { readonly answer: Answer }) {
  const isGood = findings.length === 0;
  return (
    <div class={`callout ${isGood ? 'success' : 'warning'}`}>
      <Icon of={isGood ? CircleCheck : TriangleAlert} />
      <div role="status">
        <strong>{words.found(findings.length)}</strong> {words.looked(rules, rollouts)}
      </div>
      <Help of={frame.pages.diagnosis}>{words.about}</Help>
    </div>
  );
}

interface FoundProps {
  readonly run: string;
  readonly finding: Finding;
}

function Found({ run, finding }: FoundProps) {
  const { name, title, text, when, advice, numbers, rollouts } = finding;
  return (
    <article class="card finding" aria-labelledby={name}>
      <h2 id={name}>{title}</h2>
      <p>{text}</p>
      <div class="advice">
        <Icon of={Wrench} />
        <p>
          <strong>{words.change}</strong> {advice}
        </p>
      </div>
      {numbers.length > 0 && (
        <ul class="evidence" aria-label={words.metrics}>
          {numbers.map((number, i) => (
            <li key={`${number.metric} ${i}`}>
              <Formula run={run} of={number} /> = {numberText(number.value)}{' '}
              <span class="faint">{words.steps(number.from, number.to)}</span>
            </li>
          ))}
        </ul>
      )}
      {rollouts && <Shown run={run} rollouts={rollouts} />}
      <small class="faint">{words.rule(name, when)}</small>
    </article>
  );
}

interface FormulaProps {
  readonly run: string;
  readonly of: Finding['numbers'][number];
}

/** Shows what a number is, with links to its metrics: a metric, or a sum divided by a sum. */
function Formula({ run, of: number }: FormulaProps) {
  const { role, metric, counted = [metric], outOf, statistic } = number;
  const sum = (metrics: readonly string[]) => (
    <>
      {metrics.length > 1 && '('}
      {metrics.map((name, i) => (
        <Fragment key={name}>
          {i > 0 && ' + '}
          <a href={addressOf('metrics', [run], { metric: `${role} ${name}` })}>{name}</a>
        </Fragment>
      ))}
      {metrics.length > 1 && ')'}
    </>
  );
  return (
    <>
      {sum(counted)}
      {outOf && <> / {sum(outOf)}</>}
      {statistic !== undefined && ` (${statistic})`}
    </>
  );
}

type Filter = NonNullable<Finding['rollouts']>;

/** Shows links to the rollouts of a finding, if the rule names any. */
function Shown({ run, rollouts }: { readonly run: string; readonly rollouts: Filter }) {
  const { ids = [] } = rollouts;
  if (!isFilter(rollouts) && ids.length === 0) return null;
  return (
    <p class="shown">
      {words.rollouts}{' '}
      {isFilter(rollouts) && (
        <a class="chip" href={addressOf('rollouts', [run], filterOf(rollouts))}>
          {words.list}
        </a>
      )}
      {ids.map((row) => (
        <a key={row} class="chip" href={addressOf('rollouts', [run], { rollout: String(row) })}>
          {words.rollout(row)}
        </a>
      ))}
    </p>
  );
}

/** True if the filter contains more than the ids of examples. */
const isFilter = (filter: Filter): boolean =>
  filter.ids === undefined || Object.keys(filter).length > 1;

/** Converts the filter of a finding to the query of the rollouts page. */
const filterOf = (filter: Filter) =>
  Object.fromEntries(
    Object.entries(filter)
      .filter(([name]) => name !== 'ids')
      .map(([name, value]) => [name, String(value)]),
  );
