/** Renders the story of a run as one HTML file that has no scripts and makes no requests. */
import { hash } from 'node:crypto';
import { costFigures, duration, fixed, percent, signed } from '../studio/interface/figures.js';
import type { Story } from '../studio/interface/types.js';
import { chartSvg, colourOf, rewardSvg, timeSvg } from './draw.js';
import { markup, type Markup } from './markup.js';
import { style } from './style.js';

const sizes = {
  wide: { width: 760, height: 380 },
  narrow: { width: 360, height: 230 },
  small: { width: 360, height: 170 },
};

/** Renders a story as a complete HTML document. Texts of models, tasks and files are escaped. */
export function renderStoryPage(story: Story): string {
  const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'`;
  const { name, verdict } = story;
  const body = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${verdict.headline} ${name}</title>
<style>`;
  const rest = markup`</style>
</head>
<body class="${verdict.kind}">
<header><span>${name}</span><span>${stateText(story)}</span><span>${dateText(story.changedAt)}</span></header>
<main>
${verdictPart(story)}
<div class="first">${rewardPart(story)}${nextPart(story)}</div>
${verdict.kind === 'learned' ? [answersPart(story), findingsPart(story)] : [findingsPart(story), answersPart(story)]}${chartsPart(story)}${costPart(story)}${setupPart(story)}
</main>
<footer>${story.folder}</footer>
</body>
</html>
`;
  // The style is not escaped: the policy has the hash of exactly these characters.
  return `${body.text}${style}${rest.text}`;
}

const stateText = ({ state, steps }: Story): string =>
  steps === undefined ? state : `${state}, ${steps.done} of ${steps.total} steps`;

const dateText = (milliseconds: number): string =>
  `${new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

function verdictPart({ verdict: { headline, text, evaluation } }: Story): Markup {
  return markup`<div class="verdict"><div><h1>${headline}</h1><p>${text}</p></div>${evaluation && scoreOf(evaluation)}</div>`;
}

function scoreOf({ set, before, after, difference }: Story['evaluations'][number]): Markup {
  return markup`<div class="score">
<div class="numbers">${fixed(before.value)} <span aria-label="to">\u2192</span> ${fixed(after.value)}</div>
<div class="faint">${set}: ${signed(difference)} from step ${before.step} to ${after.step}</div></div>`;
}

function rewardPart({ reward, charts }: Story): Markup {
  if (!reward)
    return markup`<section><h2>Reward</h2><p class="faint">The run has recorded no reward.</p></section>`;
  // Evaluations of `trinity eval` have another axis, train steps.
  const evaluation = charts.find(({ name, role }) => name === 'evaluation' && role === 'explorer');
  const legend =
    evaluation &&
    markup`<span class="evaluations">circles: ${evaluation.title}, 95 % interval</span>`;
  return markup`<section><h2>${reward.title}</h2><figure>
<div class="wide">${rewardSvg(reward, evaluation, sizes.wide)}</div>
<div class="narrow">${rewardSvg(reward, evaluation, sizes.narrow)}</div>
<figcaption class="legend"><span>line: attempts in training, sampled</span>${legend}</figcaption></figure></section>`;
}

function nextPart({ actions }: Story): Markup {
  const steps = actions.map(
    ({ title, why, command }) =>
      markup`<li><h3>${title}</h3><p>${why}</p><code tabindex="0">${command}</code></li>`,
  );
  return markup`<section class="next"><h2>What to do next</h2><ol>${steps}</ol></section>`;
}

const kindTexts = { gain: 'Largest gain', loss: 'Largest loss', typical: 'Typical' } as const;

function answersPart({ answers, noAnswers }: Story): Markup {
  const cards = answers.map(
    ({ kind, question, truth, before, after }) => markup`<article class="card ${kind}">
<h3><span>${kindTexts[kind]}</span><span class="change">${fixed(before.reward)} \u2192 ${fixed(after.reward)}</span></h3>
<p class="question" tabindex="0">${question}</p><dl>${expectedPart(truth)}${saidPart('Before', before)}${saidPart('After', after)}</dl></article>`,
  );
  const none = noAnswers === undefined ? undefined : markup`<p class="faint">${noAnswers}</p>`;
  return markup`<section><h2>Before and after</h2>${none}<div class="cards">${cards}</div></section>`;
}

const expectedPart = (truth: string | undefined): Markup | undefined =>
  truth === undefined
    ? undefined
    : markup`<dt><span>Expected</span></dt><dd tabindex="0">${truth}</dd>`;

function saidPart(
  label: string,
  { reward, answer, reasons }: Story['answers'][number]['before'],
): Markup {
  const why = reasons.map((reason) => markup`<p class="reason">${reason}</p>`);
  return markup`<dt><span>${label}</span><span>reward ${fixed(reward)}</span></dt><dd tabindex="0">${answer}${why}</dd>`;
}

function findingsPart({ findings }: Story): Markup {
  const found = findings.map(
    ({ title, text, advice }) => markup`<li><h3>${title}</h3><p>${text}</p><p>${advice}</p></li>`,
  );
  const list =
    findings.length === 0
      ? markup`<p class="faint">No problems found.</p>`
      : markup`<ul>${found}</ul>`;
  return markup`<section class="findings"><h2>Diagnosis</h2>${list}</section>`;
}

function chartsPart({ charts }: Story): Markup | undefined {
  if (charts.length === 0) return undefined;
  const figures = charts.map(
    (chart) => markup`<figure>
<figcaption><h3>${chart.title}</h3><p>${chart.about}</p></figcaption>${chartSvg(chart, sizes.small)}</figure>`,
  );
  return markup`<section><h2>Key metrics</h2><div class="charts">${figures}</div></section>`;
}

const roleTexts = { explorer: 'Explorer', trainer: 'Trainer' } as const;

function costPart({ cost, time }: Story): Markup | undefined {
  if (time.length === 0) return undefined;
  const times = time.map((each) => {
    const parts = each.parts.map(
      ({ name, title, seconds }) =>
        markup`<span class="${colourOf(name)}">${title} ${percent(seconds / each.seconds)}, ${duration(seconds)}</span>`,
    );
    return markup`<div><h3>${roleTexts[each.role]}</h3>${timeSvg(each)}<div class="parts">${parts}</div></div>`;
  });
  return markup`<section><h2>Time and cost</h2>
<dl class="figures">${factsOf(costFigures(cost))}</dl><div class="times">${times}</div></section>`;
}

function setupPart({ setup }: Story): Markup | undefined {
  if (setup.length === 0) return undefined;
  const facts = setup.map(({ name, value }) => [name, value] as const);
  return markup`<section><h2>How it was trained</h2><dl class="setup">${factsOf(facts)}</dl></section>`;
}

const factsOf = (facts: readonly (readonly [name: string, value: string])[]): readonly Markup[] =>
  facts.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`);
