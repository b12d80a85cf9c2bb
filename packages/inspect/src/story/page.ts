/** The story of a run as one HTML file: no script, no request; light and dark. */
import { hash } from 'node:crypto';
import { costFigures, duration, fixed, percent, signed } from '../studio/interface/figures.js';
import type { Story } from '../studio/interface/types.js';
import { chartSvg, colourOf, rewardSvg, timeSvg } from './draw.js';
import { html, type Markup } from './markup.js';
import { style } from './style.js';

const sizes = {
  wide: { width: 760, height: 380 },
  narrow: { width: 360, height: 230 },
  small: { width: 360, height: 170 },
};

/** Complete HTML document. Texts of models, tasks and files are escaped. */
export function renderStoryPage(story: Story): string {
  const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'`;
  const { name, verdict } = story;
  const body = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${verdict.headline} ${name}</title>
<style>`;
  const rest = html`</style>
</head>
<body class="${verdict.kind}">
<header><span>${name}</span><span>${stateText(story)}</span><span>${dateText(story.changedAt)}</span></header>
<main>
${verdictPart(story)}
<div class="first">${rewardPart(story)}${nextPart(story)}</div>
${answersPart(story)}${findingsPart(story)}${chartsPart(story)}${costPart(story)}${setupPart(story)}
</main>
<footer>${story.folder}</footer>
</body>
</html>
`;
  // The style holds no text from elsewhere, and its hash is of these very characters.
  return `${body.text}${style}${rest.text}`;
}

const stateText = ({ state, steps }: Story): string =>
  steps === undefined ? state : `${state}, ${steps.done} of ${steps.total} steps`;

const dateText = (milliseconds: number): string =>
  `${new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

function verdictPart({ verdict: { headline, text, evaluation } }: Story): Markup {
  return html`<div class="verdict">
    <div>
      <h1>${headline}</h1>
      <p>${text}</p>
    </div>
    ${evaluation && scoreOf(evaluation)}
  </div>`;
}

function scoreOf({ set, before, after, difference }: Story['evaluations'][number]): Markup {
  return html`<div class="score">
    <div class="numbers">
      ${fixed(before.value)} <span aria-label="to">→</span> ${fixed(after.value)}
    </div>
    <div class="faint">${set}, ${signed(difference)} from step ${before.step} to ${after.step}</div>
  </div>`;
}

function rewardPart({ reward, charts }: Story): Markup {
  const evaluation = charts.find((chart) => chart.name === 'evaluation');
  const onSteps = evaluation?.role === 'explorer' ? evaluation : undefined;
  if (!reward)
    return html`<section>
      <h2>Reward</h2>
      <p class="faint">The run has recorded no reward.</p>
    </section>`;
  const legend = onSteps && html`<span class="evaluations">${onSteps.title}, 95 % interval</span>`;
  return html`<section>
    <h2>${reward.title}</h2>
    <figure>
      <div class="wide">${rewardSvg(reward, onSteps, sizes.wide)}</div>
      <div class="narrow">${rewardSvg(reward, onSteps, sizes.narrow)}</div>
      <figcaption class="legend"><span>mean reward by step</span>${legend}</figcaption>
    </figure>
  </section>`;
}

function nextPart({ actions }: Story): Markup {
  return html`<section class="next">
    <h2>What to do next</h2>
    <ol>
      ${actions.map(
        ({ title, why, command }) =>
          html`<li>
            <h3>${title}</h3>
            <p>${why}</p>
            <code tabindex="0">${command}</code>
          </li>`,
      )}
    </ol>
  </section>`;
}

const kindTexts = { gain: 'Largest gain', loss: 'Largest loss', typical: 'Typical' } as const;

function answersPart({ answers, noAnswers, verdict }: Story): Markup {
  const [from, to] = [verdict.evaluation?.before.step ?? 0, verdict.evaluation?.after.step];
  const after = to === undefined ? 'after' : `after step ${to}`;
  return html`<section>
    <h2>Before and after</h2>
    ${noAnswers === undefined ? undefined : html`<p class="faint">${noAnswers}</p>`}
    <div class="cards">
      ${answers.map(
        (pair) =>
          html`<article class="card ${pair.kind}">
            <h3>
              <span>${kindTexts[pair.kind]}</span><span class="change">${changeText(pair)}</span>
            </h3>
            <p class="question" tabindex="0">${pair.question}</p>
            <dl>${saidPart(`after step ${from}`, pair.before)}${saidPart(after, pair.after)}</dl>
          </article>`,
      )}
    </div>
  </section>`;
}

const changeText = ({ before, after }: Story['answers'][number]): string =>
  `${fixed(before.reward)} \u2192 ${fixed(after.reward)}`;

function saidPart(label: string, said: Story['answers'][number]['before']): Markup {
  const reasons = said.reasons.map((reason) => html`<p class="reason">${reason}</p>`);
  return html`<dt><span>${label}</span><span>reward ${fixed(said.reward)}</span></dt>
    <dd tabindex="0">${said.answer}${reasons}</dd>`;
}

function findingsPart({ findings }: Story): Markup {
  const found = findings.map(
    ({ title, text, advice }) =>
      html`<li>
        <h3>${title}</h3>
        <p>${text}</p>
        <p>${advice}</p>
      </li>`,
  );
  return html`<section class="findings">
    <h2>What the doctor found</h2>
    ${
      findings.length === 0
        ? html`<p class="faint">No rule of the doctor holds for this run.</p>`
        : html`<ul>
            ${found}
          </ul>`
    }
  </section>`;
}

function chartsPart({ charts }: Story): Markup {
  return html`<section>
    <h2>How it went</h2>
    <div class="charts">
      ${charts.map(
        (chart) =>
          html`<figure>
            <figcaption>
              <h3>${chart.title}</h3>
              <p>${chart.about}</p>
            </figcaption>
            ${chartSvg(chart, sizes.small)}
          </figure>`,
      )}
    </div>
  </section>`;
}

const roleTexts = { explorer: 'The explorer', trainer: 'The trainer' } as const;

function costPart({ cost, time }: Story): Markup {
  const figures = costFigures(cost).map(
    ([label, value]) =>
      html`<div>
        <dt>${label}</dt>
        <dd>${value}</dd>
      </div>`,
  );
  const times = time.map(
    (each) =>
      html`<div>
        <h3>${roleTexts[each.role]}</h3>
        ${timeSvg(each)}
        <div class="parts">
          ${each.parts.map(
            ({ name, title, seconds }) =>
              html`<span class="${colourOf(name)}"
                >${title} ${percent(seconds / each.seconds)}, ${duration(seconds)}</span
              >`,
          )}
        </div>
      </div>`,
  );
  return html`<section>
    <h2>What it took</h2>
    <dl class="figures">${figures}</dl>
    <div class="times">${times}</div>
  </section>`;
}

function setupPart({ setup }: Story): Markup {
  const facts = setup.map(
    ({ name, value }) =>
      html`<div>
        <dt>${name}</dt>
        <dd>${value}</dd>
      </div>`,
  );
  return html`<section>
    <h2>How it was trained</h2>
    <dl class="setup">${facts}</dl>
  </section>`;
}
