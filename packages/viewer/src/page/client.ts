/**
 * The page's program. Recorded texts enter the page through `textContent` and `title` only, never as
 * HTML.
 */
import type { ExperienceDetail, TokenDetail } from '../records/detail.js';
import type { RowPage } from '../records/records.js';
import type { RowSummary } from '../records/row-index.js';
import type { FormFields, Page, PageElement, PageLocation } from './dom.js';

const { document, location, FormData } = globalThis as unknown as {
  readonly document: Page;
  readonly location: PageLocation;
  readonly FormData: FormFields;
};

const key = new URLSearchParams(location.hash.slice(1)).get('key') ?? '';
const pageSize = 50;
const followEveryMs = 2000;

/** The state of the page. */
const shown = {
  store: 0,
  page: 0,
  row: 0,
  colour: 'logprob' as Colour,
  detail: undefined as ExperienceDetail | undefined,
};
/** Number of list requests: the answer of an outdated one is dropped. */
let listRequests = 0;

type Colour = 'mask' | 'logprob' | 'advantage';

function at(id: string): PageElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no #${id}.`);
  return element;
}

function make(name: string, text = '', className = ''): PageElement {
  const element = document.createElement(name);
  element.textContent = text;
  if (className !== '') element.className = className;
  return element;
}

async function ask<T>(path: string): Promise<T> {
  const response = await fetch(`api/${path}`, { headers: { authorization: `Bearer ${key}` } });
  const answer = (await response.json()) as T & { readonly error?: string };
  if (!response.ok) throw new Error(answer.error ?? `Status ${response.status}`);
  return answer;
}

/** Shows errors in the status line. */
async function attempt(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), true);
  }
}

function say(text: string, problem = false): void {
  at('status').textContent = text;
  at('status').className = problem ? 'problem' : '';
}

const number = (value: number | undefined): string =>
  value === undefined ? '' : String(Number(value.toPrecision(5)));

async function showList(): Promise<void> {
  const request = ++listRequests;
  const fields = [...new FormData(at('filter'))]
    .filter(([, value]) => value !== '')
    .map(([name, value]): [string, string] => [name, value]);
  const query = new URLSearchParams([
    ...fields,
    ['page', String(shown.page)],
    ['size', String(pageSize)],
  ]);
  const { rows, matching, total } = await ask<RowPage>(
    `stores/${shown.store}/rows?${query.toString()}`,
  );
  if (request !== listRequests) return;
  at('rows').replaceChildren(...rows.map(listRow));
  const first = shown.page * pageSize;
  at('place').textContent =
    matching === 0 ? 'none' : `${first + 1} to ${first + rows.length} of ${matching}`;
  at('previous').disabled = shown.page === 0;
  at('next').disabled = first + rows.length >= matching;
  say(matching === total ? `${total} experiences` : `${matching} of ${total} experiences`);
}

function listRow(row: RowSummary): PageElement {
  const line = make('tr');
  const finish = [row.finishReason, row.truncated, row.fork && `fork: ${row.fork}`]
    .filter(Boolean)
    .join(', ');
  const used =
    row.trainStep === undefined
      ? ''
      : `${row.trainStep}${row.dropped === true ? ' (dropped)' : ''}`;
  const cells = [
    row.uid,
    number(row.reward),
    row.policyVersion,
    row.promptTokens,
    row.responseTokens,
    row.trainedTokens,
    finish,
    used,
  ];
  line.append(...cells.map((cell) => make('td', String(cell))));
  line.setAttribute('tabindex', '0');
  line.setAttribute('data-id', String(row.id));
  line.setAttribute('aria-selected', String(row.id === shown.row));
  line.addEventListener('click', () => void attempt(() => choose(row.id, line)));
  line.addEventListener(
    'keydown',
    (event) => void (event.key === 'Enter' && attempt(() => choose(row.id, line))),
  );
  return line;
}

async function choose(id: number, line: PageElement): Promise<void> {
  shown.row = id;
  for (const other of document.querySelectorAll('#rows tr'))
    other.setAttribute('aria-selected', 'false');
  line.setAttribute('aria-selected', 'true');
  const detail = await ask<ExperienceDetail>(`stores/${shown.store}/rows/${id}`);
  if (id !== shown.row) return;
  shown.detail = detail;
  showDetail();
}

function showDetail(): void {
  const { detail } = shown;
  if (!detail) return at('detail').replaceChildren(make('p', 'Choose an experience.'));
  const { uid, reward, policyVersion, temperature, truncated, metrics, info, tokens, spans } =
    detail;
  const facts = {
    reward: number(reward),
    'policy version': versionsOf(spans) ?? policyVersion,
    temperature,
    ...(truncated !== undefined && { truncated }),
  };
  const parts = [
    make('h2', uid),
    factList(facts),
    relatives(detail),
    make('h2', 'Tokens'),
    colourChoice(tokens),
    tokenView(detail),
  ];
  if (tokens[0]?.text === null && detail.responseText !== undefined) {
    if (detail.promptText !== undefined)
      parts.push(make('h2', 'Prompt'), make('div', detail.promptText, 'tokens'));
    parts.push(make('h2', 'Response'), make('div', detail.responseText, 'tokens'));
  }
  parts.push(make('h2', 'Metrics'), factList(metrics), make('h2', 'Info'), factList(info));
  if (spans)
    parts.push(
      make('h2', 'Calls'),
      factList(Object.fromEntries(spans.map((span) => [`call ${span.step}`, span]))),
    );
  return at('detail').replaceChildren(...parts);
}

/** Of the weights that sampled its calls, if they differ. */
function versionsOf(spans: ExperienceDetail['spans']): string | undefined {
  const versions = [...new Set(spans?.map((span) => span.policyVersion))];
  return versions.length > 1 ? versions.join(', ') : undefined;
}

/** Buttons that filter the list for the calls of this run, or the runs of this task. */
function relatives({ batch, task, run }: ExperienceDetail): PageElement {
  const choices = {
    'all steps of this run': { batch, task, run: String(run) },
    'all runs of this task': { batch, task, run: '' },
  };
  const line = make('p');
  for (const [label, fields] of Object.entries(choices)) {
    const button = make('button', label);
    button.addEventListener('click', () => {
      for (const input of document.querySelectorAll('#filter input:not([type=checkbox])'))
        input.value = '';
      for (const [name, value] of Object.entries(fields)) at(name).value = value;
      turn(0);
    });
    line.append(button, ' ');
  }
  return line;
}

function factList(facts: Readonly<Record<string, unknown>>): PageElement {
  const list = make('dl', '', 'facts');
  for (const [name, value] of Object.entries(facts)) {
    list.append(
      make('dt', name),
      make('dd', typeof value === 'string' ? value : JSON.stringify(value)),
    );
  }
  return list;
}

function colourChoice(tokens: readonly TokenDetail[]): PageElement {
  const label = make('label', 'colour by ');
  const select = make('select');
  const possible: readonly Colour[] = [
    'logprob',
    'mask',
    ...(tokens.some((token) => token.advantage !== undefined) ? (['advantage'] as const) : []),
  ];
  for (const colour of possible) {
    const option = make('option', colour);
    option.value = colour;
    select.append(option);
  }
  select.value = possible.includes(shown.colour) ? shown.colour : 'logprob';
  select.addEventListener('change', () => {
    shown.colour = select.value as Colour;
    showDetail();
  });
  select.setAttribute('id', 'colour');
  label.append(select);
  return label;
}

function tokenView({ tokens, promptLength, spans }: ExperienceDetail): PageElement {
  const view = make('div', '', 'tokens');
  const calls = new Set(spans?.map(({ start }) => promptLength + start) ?? [promptLength]);
  const largest = Math.max(1e-9, ...tokens.map(({ advantage = 0 }) => Math.abs(advantage)));
  view.append(
    ...tokens.map((token, i) => {
      const piece = make(
        'span',
        token.text ?? `${token.id} `,
        `token ${token.mask === 1 ? 'sampled' : 'context'}${calls.has(i) ? ' call' : ''}`,
      );
      piece.title = tooltip(token, i);
      if (token.mask === 1) piece.style.setProperty('--heat', heat(token, largest));
      return piece;
    }),
  );
  return view;
}

/** From red (unlikely, worse than the group) to green (certain, better). */
function heat({ logprob = 0, advantage = 0 }: TokenDetail, largest: number): string {
  if (shown.colour === 'mask') return 'hsl(210 80% 50%)';
  const share = shown.colour === 'advantage' ? (advantage / largest + 1) / 2 : Math.exp(logprob);
  return `hsl(${Math.round(120 * share)} 80% 45%)`;
}

function tooltip(token: TokenDetail, index: number): string {
  const { id, mask, logprob, advantage, tokenReward } = token;
  const lines = [
    `token ${index}: id ${id}, ${JSON.stringify(token.text)}`,
    mask === undefined ? 'prompt' : mask === 1 ? 'sampled' : 'context (not trained)',
    logprob === undefined
      ? ''
      : `logprob ${number(logprob)}, probability ${number(Math.exp(logprob))}`,
    advantage === undefined ? '' : `advantage ${number(advantage)}`,
    tokenReward === undefined ? '' : `reward ${number(tokenReward)}`,
  ];
  return lines.filter((line) => line !== '').join('\n');
}

function turn(page: number): void {
  shown.page = Math.max(0, page);
  void attempt(showList);
}

async function start(): Promise<void> {
  const stores =
    await ask<readonly { readonly store: number; readonly database: string }[]>('stores');
  for (const { store, database } of stores) {
    const option = make('option', database);
    option.value = String(store);
    at('store').append(option);
  }
  await showList();
}

at('filter').addEventListener('submit', (event) => {
  event.preventDefault();
  turn(0);
});
at('store').addEventListener('change', () => {
  Object.assign(shown, { store: Number(at('store').value), row: 0, detail: undefined });
  showDetail();
  turn(0);
});
at('previous').addEventListener('click', () => turn(shown.page - 1));
at('next').addEventListener('click', () => turn(shown.page + 1));
/** Starts the next update when the last one has finished. */
function follow(): void {
  setTimeout(
    () => void (at('follow').checked ? attempt(showList) : Promise.resolve()).finally(follow),
    followEveryMs,
  );
}

follow();
void attempt(start);
