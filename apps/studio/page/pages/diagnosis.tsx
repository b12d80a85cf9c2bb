/** Problems of a run, in words, with the curves and rollouts that show it. */
import type { Diagnosis as Answer } from '@trinity-rft/inspect/studio/interface';
import { numberText } from '../numbers.js';
import { useRunAnswer } from '../parts/use-run-answer.js';
import { addressOf, type PageProps } from '../place.js';
import { words } from '../words/diagnosis.js';
import { words as frame } from '../words/frame.js';

type Finding = Answer['findings'][number];

export function Diagnosis({ place, run }: PageProps) {
  const [id] = place.runs;
  const { answer, problem } = useRunAnswer<Answer>(id, run, 'diagnosis');
  if (id === undefined) return <p>{words.choose}</p>;
  return (
    <section aria-label={frame.pages.diagnosis}>
      <p class="about">{words.about}</p>
      {problem !== undefined && <p role="alert">{problem}</p>}
      <p role="status">{verdictOf(answer, problem)}</p>
      {answer?.findings.map((finding) => (
        <Found key={finding.name} run={id} finding={finding} />
      ))}
    </section>
  );
}

function verdictOf(answer: Answer | undefined, problem: string | undefined): string {
  if (!answer) return problem === undefined ? words.looking : '';
  const { findings, rules, rollouts } = answer;
  return `${words.found(findings.length)} ${words.looked(rules, rollouts)}`;
}

interface FoundProps {
  readonly run: string;
  readonly finding: Finding;
}

function Found({ run, finding }: FoundProps) {
  const { name, title, text, when, advice, numbers, rollouts } = finding;
  return (
    <article class="finding" aria-labelledby={name}>
      <h2 id={name}>{title}</h2>
      <p>{text}</p>
      <p>
        <strong>{words.change}</strong> {advice}
      </p>
      <p class="faint">{words.rule(name, when)}</p>
      <ul>
        {numbers.map(({ role, metric, value, from, to, outOf = [] }) => (
          <li key={metric}>
            {[metric, ...outOf].map((name, i) => (
              <>
                {i > 0 && ' / '}
                <a href={addressOf('metrics', [run], { metric: `${role} ${name}` })}>{name}</a>
              </>
            ))}{' '}
            {numberText(value)} {words.steps(from, to)}
          </li>
        ))}
        {rollouts && (isFilter(rollouts) || rollouts.ids?.length !== 0) && (
          <li>
            {words.rollouts}
            {isFilter(rollouts) && (
              <>
                {' '}
                <a href={addressOf('rollouts', [run], filterOf(rollouts))}>{words.list}</a>
              </>
            )}
            {rollouts.ids?.map((row) => (
              <>
                {' '}
                <a key={row} href={addressOf('rollouts', [run], { rollout: String(row) })}>
                  {words.rollout(row)}
                </a>
              </>
            ))}
          </li>
        )}
      </ul>
    </article>
  );
}

/** It says more than which rows. */
const isFilter = (filter: NonNullable<Finding['rollouts']>): boolean =>
  filter.ids === undefined || Object.keys(filter).length > 1;

/** Filter in the form that the page of rollouts keeps in its address. */
const filterOf = (filter: NonNullable<Finding['rollouts']>) =>
  Object.fromEntries(
    Object.entries(filter)
      .filter(([name]) => name !== 'ids')
      .map(([name, value]) => [name, String(value)]),
  );
