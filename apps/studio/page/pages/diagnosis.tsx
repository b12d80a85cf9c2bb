/** Page of the findings about a run, with curves and rollouts as evidence. */
import type { Diagnosis as Answer } from '@trinity-rft/inspect/studio/interface';
import { CircleCheck, Stethoscope, TriangleAlert, Wrench } from 'lucide';
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
  const metrics = numbers.flatMap(({ outOf = [], ...number }) =>
    [number.metric, ...outOf].map((metric) => ({ ...number, metric })),
  );
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
      {metrics.length > 0 && (
        <ul class="evidence" aria-label={words.metrics}>
          {metrics.map(({ role, metric, value, from, to }, i) => (
            <li key={`${metric} ${i}`}>
              <a href={addressOf('metrics', [run], { metric: `${role} ${metric}` })}>{metric}</a>{' '}
              {numberText(value)} <span class="faint">{words.steps(from, to)}</span>
            </li>
          ))}
        </ul>
      )}
      {rollouts && <Shown run={run} rollouts={rollouts} />}
      <small class="faint">{words.rule(name, when)}</small>
    </article>
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
