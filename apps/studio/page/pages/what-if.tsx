/**
 * Page that applies another reward, advantage or loss to the latest rollouts, and compares the
 * results.
 */
import type { WhatIfAnswer, WhatIfChoices } from '@trinity-rft/inspect/studio/interface';
import { Sparkles } from 'lucide';
import { Fragment } from 'preact';
import { TitleRow } from '../design/title-row.js';
import { runPath } from '../api.js';
import { Help } from '../design/help.js';
import { Empty, Problem, Skeleton } from '../design/states.js';
import { numberText } from '../numbers.js';
import { useAnswer } from '../parts/use-answers.js';
import { addressOf, type PageProps } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/whatIf.js';

type Query = Readonly<Record<string, string>>;
type Compared = WhatIfAnswer['groups'][number];

export function WhatIf({ place }: PageProps) {
  const [id] = place.runs;
  if (id === undefined) return <Empty icon={Sparkles} title={words.choose} />;
  const key = JSON.stringify([id, place.query]);
  return (
    <section aria-label={frame.pages.whatIf}>
      <Choice
        key={key}
        run={id}
        query={place.query}
        onTry={(query) => void (location.hash = addressOf('whatIf', place.runs, query))}
      />
      {Object.keys(place.query).length > 0 ? (
        <Outcome key={key} run={id} query={place.query} />
      ) : (
        <Empty icon={Sparkles} title={words.nothing} text={words.about} />
      )}
    </section>
  );
}

interface ChoiceProps {
  readonly run: string;
  readonly query: Query;
  readonly onTry: (query: Query) => void;
}

function Choice({ run, query, onTry }: ChoiceProps) {
  const { answer: choices, problem } = useAnswer<WhatIfChoices>(runPath(run, 'what-if/choices'));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = [...new FormData(event.currentTarget as HTMLFormElement)];
    const texted = given.map(([name, value]) => [name, typeof value === 'string' ? value : '']);
    onTry(Object.fromEntries(texted) as Query);
  };
  if (problem !== undefined) return <Problem text={problem} />;
  if (!choices) return <Skeleton lines={3} />;
  const { algorithms, advantages, losses, numbers } = choices;
  return (
    <form class="card variant" autocomplete="off" onSubmit={submit}>
      <Options name="algorithm" of={algorithms} query={query} />
      <Options name="advantage" of={advantages} query={query} />
      <Options name="loss" of={losses} query={query} />
      <Options name="number" of={numbers} query={query} />
      <Field name="contains" query={query} />
      <Field name="lengthCost" query={query} />
      <Field name="drift" query={query} />
      <Field name="steps" query={query} />
      <div class="controls">
        <button type="submit" class="primary">
          {words.try}
        </button>
        <Help of={frame.pages.whatIf}>
          <p>{words.about}</p>
          <dl>
            {Object.entries(words.fieldHelp).map(([name, help]) => (
              <Fragment key={name}>
                <dt>{words.fields[name as ControlProps['name']]}</dt>
                <dd>{help}</dd>
              </Fragment>
            ))}
          </dl>
        </Help>
      </div>
    </form>
  );
}

type Example = keyof typeof words.examples;

interface ControlProps {
  readonly name: keyof typeof words.fields;
  readonly query: Query;
}

function Options({ name, of, query }: ControlProps & { readonly of: readonly string[] }) {
  return (
    <label>
      {words.fields[name]}
      <select name={name}>
        <option value="">{words.asItIs}</option>
        {of.map((each) => (
          <option key={each} value={each} selected={each === query[name]}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}

const Field = ({ name, query }: ControlProps) => (
  <label>
    {words.fields[name]}
    <input
      name={name}
      placeholder={name in words.examples ? words.examples[name as Example] : words.asItIs}
      defaultValue={query[name] ?? ''}
    />
  </label>
);

function Outcome({ run, query }: { readonly run: string; readonly query: Query }) {
  const { answer, problem } = useAnswer<WhatIfAnswer>(runPath(run, 'what-if', query));
  if (problem !== undefined) return <Problem text={problem} />;
  if (!answer) return <Skeleton lines={8} />;
  const { agreement, signChanges, gradientCosine, exploreSteps, groupCount, groups } = answer;
  return (
    <>
      <div class="cards outcome">
        <div class="scroll">
          <Summary answer={answer} />
        </div>
        <ul class="card">
          <li>{words.looked(exploreSteps, groupCount)}</li>
          <li>{words.agreement(numberText(agreement))}</li>
          <li>{words.signChanges(numberText(signChanges * 100))}</li>
          <li>{words.cosine(numberText(gradientCosine))}</li>
        </ul>
      </div>
      <h2>{words.groups}</h2>
      {groups.map((group) => (
        <Group key={`${group.batch} ${group.task}`} run={run} group={group} />
      ))}
    </>
  );
}

const rows = [
  'meanReward',
  'groupsWithSignal',
  'runsWithSignal',
  'meanAbsAdvantage',
  'gradientNorm',
] as const;

function Summary({ answer }: { readonly answer: WhatIfAnswer }) {
  const { before, after, groupCount } = answer;
  const text = (of: typeof before, name: (typeof rows)[number]): string =>
    name === 'groupsWithSignal' ? words.of(numberText(of[name]), groupCount) : numberText(of[name]);
  return (
    <table>
      <caption>{words.summary}</caption>
      <thead>
        <tr>
          <th scope="col">{words.quantity}</th>
          <th scope="col">{words.before}</th>
          <th scope="col">{words.after}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((name) => (
          <tr key={name}>
            <th scope="row">{words.rows[name]}</th>
            <td>{text(before, name)}</td>
            <td>{text(after, name)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Group({ run, group }: { readonly run: string; readonly group: Compared }) {
  const { batch, task, agreement, runs } = group;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={words.group(batch, task)}>
      <table>
        <caption>
          <a href={addressOf('rollouts', [run], { batch, task, sort: 'reward' })}>
            {words.group(batch, task)}
          </a>{' '}
          {words.agreement(numberText(agreement))}
        </caption>
        <TitleRow titles={words.columns} />
        <tbody>
          {runs.map(({ run: attempt, before, after }) => (
            <tr key={attempt}>
              <th scope="row">{attempt}</th>
              <td>{numberText(before.reward)}</td>
              <td>{numberText(after.reward)}</td>
              <td>{numberText(before.advantage)}</td>
              <td>{numberText(after.advantage)}</td>
              <td>{before.rank}</td>
              <td>{after.rank}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
