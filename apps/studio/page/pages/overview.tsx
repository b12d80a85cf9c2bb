/** Overview page of a run: verdict, causes, cost, and next steps. */
import {
  costFigures,
  duration,
  fixed,
  percent,
  signed,
  type Story,
} from '@trinity-rft/inspect/studio/interface';
import { Command } from '../design/command.js';
import { Empty, Problem, Skeleton } from '../design/states.js';
import { StoryChart } from '../parts/story-chart.js';
import { useRunAnswer } from '../parts/use-answers.js';
import { addressOf, type PageProps } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/overview.js';
import './overview.css';

const sizes = {
  wide: { width: 800, height: 400 },
  narrow: { width: 360, height: 230 },
  small: { width: 360, height: 160 },
};

export function Overview({ place, run }: PageProps) {
  const [id] = place.runs;
  const { answer, problem } = useRunAnswer<Story>(id, run, 'story');
  if (id === undefined) return <Empty title={words.choose} />;
  return (
    <section class="overview" aria-label={frame.pages.overview}>
      {problem !== undefined && <Problem text={problem} />}
      {answer ? <Told id={id} story={answer} /> : problem === undefined && <Skeleton lines={8} />}
    </section>
  );
}

interface ToldProps {
  readonly id: string;
  readonly story: Story;
}

const Told = ({ id, story }: ToldProps) => (
  <>
    <Verdict verdict={story.verdict} />
    <div class="first">
      <Reward story={story} />
      <Next actions={story.actions} />
    </div>
    <Findings id={id} findings={story.findings} />
    {(story.answers.length > 0 || story.verdict.kind !== 'failed') && <Answers story={story} />}
    {story.charts.length > 0 && <Charts id={id} charts={story.charts} />}
    {story.time.length > 0 && <Took story={story} />}
  </>
);

function Verdict({ verdict: { kind, headline, text, evaluation } }: Pick<Story, 'verdict'>) {
  return (
    <div class={`verdict ${kind}`} role="status">
      <div>
        <h1>{headline}</h1>
        <p>{text}</p>
      </div>
      {evaluation && (
        <div class="score">
          <p class="numbers">
            {fixed(evaluation.before.value)} <span aria-label={words.to}>→</span>{' '}
            {fixed(evaluation.after.value)}
          </p>
          <p class="faint">
            {words.change(
              evaluation.set,
              signed(evaluation.difference),
              evaluation.before.step,
              evaluation.after.step,
            )}
          </p>
        </div>
      )}
    </div>
  );
}

function Reward({ story: { reward, charts } }: Pick<ToldProps, 'story'>) {
  if (!reward) return <Empty title={words.noRewardTitle} text={words.noReward} />;
  // Leaves out evaluations of `trinity eval`, whose x axis is train steps.
  const evaluation = charts.find(({ name, role }) => name === 'evaluation' && role === 'explorer');
  const shown = evaluation ? [reward, evaluation] : [reward];
  return (
    <figure class="card reward">
      <h2>{reward.title}</h2>
      {(['wide', 'narrow'] as const).map((size) => (
        <div key={size} class={size}>
          <StoryChart charts={shown} size={sizes[size]} />
        </div>
      ))}
      <figcaption>
        <span>{words.rewardByStep}</span>
        {evaluation && <span class="evaluations">{words.evaluation(evaluation.title)}</span>}
      </figcaption>
    </figure>
  );
}

const Next = ({ actions }: Pick<Story, 'actions'>) => (
  <div class="card next">
    <h2>{words.next}</h2>
    <ol>
      {actions.map(({ name, title, why, command }) => (
        <li key={name}>
          <h3>{title}</h3>
          <p>{why}</p>
          <Command text={command} />
        </li>
      ))}
    </ol>
  </div>
);

const Answers = ({ story: { answers, noAnswers } }: Pick<ToldProps, 'story'>) => (
  <div class="part">
    <h2>{words.answers}</h2>
    {noAnswers !== undefined && <p class="faint">{noAnswers}</p>}
    <div class="cards">
      {answers.map(({ kind, question, truth, before, after }) => (
        <article key={kind} class={`card ${kind}`}>
          <header>
            <h3>{words.kinds[kind]}</h3>
            <span class="change">
              {fixed(before.reward)} → {fixed(after.reward)}
            </span>
          </header>
          <p class="question" tabIndex={0}>
            {question}
          </p>
          <dl>
            {truth !== undefined && (
              <>
                <dt>
                  <span>{words.expected}</span>
                </dt>
                <dd tabIndex={0}>{truth}</dd>
              </>
            )}
            <Said label={words.before} said={before} />
            <Said label={words.after} said={after} />
          </dl>
        </article>
      ))}
    </div>
  </div>
);

interface SaidProps {
  readonly label: string;
  readonly said: Story['answers'][number]['before'];
}

const Said = ({ label, said: { reward, answer, reasons } }: SaidProps) => (
  <>
    <dt>
      <span>{label}</span>
      <span>{words.reward(fixed(reward))}</span>
    </dt>
    <dd tabIndex={0}>
      {answer}
      {reasons.map((reason) => (
        <p key={reason} class="faint">
          {reason}
        </p>
      ))}
    </dd>
  </>
);

const Findings = ({ id, findings }: Pick<Story, 'findings'> & { readonly id: string }) => (
  <div class="part">
    <h2>{words.findings}</h2>
    {findings.length === 0 && <p class="faint">{words.noFindings}</p>}
    {findings.map(({ name, title, text, advice }) => (
      <article key={name} class="card found">
        <h3>{title}</h3>
        <p>{text}</p>
        <p>{advice}</p>
      </article>
    ))}
    {findings.length > 0 && <a href={addressOf('diagnosis', [id])}>{words.evidence}</a>}
  </div>
);

const Charts = ({ id, charts }: Pick<Story, 'charts'> & { readonly id: string }) => (
  <div class="part">
    <header>
      <h2>{words.charts}</h2>
      <a href={addressOf('metrics', [id])}>{words.allMetrics}</a>
    </header>
    <div class="cards">
      {charts.map((chart) => (
        <figure key={chart.name} class="card">
          <figcaption>
            <h3>
              <a href={addressOf('metrics', [id], { metric: `${chart.role} ${chart.metric}` })}>
                {chart.title}
              </a>
            </h3>
            <p class="faint">{chart.about}</p>
          </figcaption>
          <StoryChart charts={[chart]} size={sizes.small} />
        </figure>
      ))}
    </div>
  </div>
);

const Took = ({ story: { cost, time } }: Pick<ToldProps, 'story'>) => (
  <div class="part took">
    <h2>{words.took}</h2>
    <div class="card">
      <dl class="figures">
        {costFigures(cost).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {time.map(({ role, seconds, parts }) => (
        <div key={role}>
          <h3>{words.roles[role]}</h3>
          <div class="bar" aria-hidden="true">
            {parts.map((part) => (
              <div key={part.name} class={part.name} style={{ flexGrow: part.seconds }} />
            ))}
          </div>
          <p class="shares">
            {parts.map((part) => (
              <span key={part.name} class={part.name}>
                {words.part(part.title, percent(part.seconds / seconds), duration(part.seconds))}
              </span>
            ))}
          </p>
        </div>
      ))}
    </div>
  </div>
);
