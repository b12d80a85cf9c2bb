/** Tests the actions of the studio in a browser. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { run, type ServeAddress, type Terminal } from '@trinity-rft/launcher';
import { openStudio, type Studio } from '@trinity-rft/inspect/studio';
import { openControl } from '../src/control/control.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '@trinity-rft/test-support';
import { attack, launch, timeout } from './look.js';
import { buildPage, openWorkbench, saying, type Workbench } from './support.js';

/** Command that runs `trinity` from the sources. */
const trinity = [
  process.execPath,
  '--conditions=@trinity-rft/source',
  '--import',
  new URL('../../../tools/register-source.mjs', import.meta.url).href,
  path.join(import.meta.dirname, '../../runner/src/cli.ts'),
];
const practice = path.join(import.meta.dirname, '../../../apps/create/templates/practice');

/** A run that continues until it is stopped. */
const job = `# A comment that stays.
project: p
name: job
checkpoint_root_dir: runs
model: { model_path: ./model, max_prompt_tokens: 96, max_response_tokens: 4 }
algorithm: { algorithm_type: grpo, repeat_times: 2 }
buffer:
  batch_size: 2 # tasks of a step
  total_steps: 100000
  explorer_input:
    taskset: { path: ./tasks.jsonl, format: { prompt_key: question, response_key: answer } }
    default_workflow_type: simple_workflow
    default_reward_fn_type: exact_match_reward
`;

const serve = `mode: serve
name: product
model: { model_path: ./model, max_prompt_tokens: 96, max_response_tokens: 8 }
algorithm: { algorithm_type: grpo, repeat_times: 8 }
buffer: { train_batch_size: 8 }
`;

const chromium = await findChromium();
const reason = chromium === undefined ? ' (no Chromium: set CHROMIUM_PATH or install one)' : '';

describe.skipIf(chromium === undefined)(`what the studio does, in a browser${reason}`, () => {
  let browser: Awaited<ReturnType<typeof launch>>;
  let bench: Workbench;
  let studio: Studio;

  beforeAll(async () => {
    browser = await launch(chromium ?? '');
    const page = await buildPage();
    const metrics = `${JSON.stringify({ role: 'explorer', step: 1, metrics: { 'rollout/reward/mean': 0.5 }, timing: {} })}\n`;
    bench = await openWorkbench(page, 'run', [saying('a', 'b')], metrics);
    writeFileSync(path.join(bench.root, 'run', 'stage_meta.json'), '{"latest_stage":0}');
    for (const part of [practice, `${practice}-tasks`])
      cpSync(part, bench.root, { recursive: true });
    writeFileSync(path.join(bench.root, 'job.yaml'), job);
    const parts = [openControl({ command: trinity, cwd: bench.root })];
    studio = await openStudio({ runs: bench.root, page, parts });
  }, timeout);
  afterAll(async () => {
    await browser?.close();
    await studio?.close();
    // It outlives the studio, also if a test fails.
    const pid = await readFile(path.join(bench.root, 'runs/p/job/run.pid'), 'utf8').catch(() => '');
    if (pid !== '') process.kill(Number(pid), 'SIGKILL');
  });

  const open = (page: string) => browser.open(`${studio.url}&page=${page}&run=run`);

  it('shows who waits for whom, as it changes', { timeout }, async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const beat = (trainer: readonly object[], explorer: readonly object[]): void => {
      const progress = { exploreStep: 7, trainStep: 5, version: 4 };
      const waits = { trainer, explorer };
      writeFileSync(
        path.join(bench.root, 'run', 'status.json'),
        // Of the future: it does not fall silent however slow the machine is.
        JSON.stringify({ pid: child.pid, host: hostname(), at: Date.now() + 1e6, waits, progress }),
      );
    };
    beat([{ what: `tasks ${attack}`, on: 'explorer', forMs: 12_000 }], []);
    const look = await open('workers');
    await look.says('.verdict', 'explorer is at work.');
    expect(await look.text('svg.waits')).toContain(`tasks ${attack}, for 12 s`);
    expect(await look.text('main')).toContain('explore step 7 · train step 5 · staleness 1 train');
    expect(await look.text('.chain')).toContain(`waits for tasks ${attack}, for 12 s: explorer is`);
    expect(await look.violations()).toEqual([]);
    beat(
      [{ what: 'tasks', on: 'explorer', forMs: 12_000 }],
      [{ what: 'the product', forMs: 180_000 }],
    );
    await look.says('.verdict', 'Cause: outside the run.');
    expect(await look.text('.waits .cause')).toBe('outside the run');
    child.kill('SIGSTOP');
    await look.says('.verdict', 'Cause: explorer is silent.');
    await look.says('tbody', 'its process is stopped (SIGSTOP)');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await look.says('main', 'No process is running');
    expect(await look.intrusions()).toEqual([]);
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('says what to do where no process makes the run', { timeout }, async () => {
    const look = await browser.open(`${studio.url}&page=workers&run=nothing`);
    await look.says('main .empty', 'There is no run nothing.');
    expect(await look.violations()).toEqual([]);
    await look.page.close();
  });

  it('checks, saves, starts, stops and resumes what is edited', { timeout }, async () => {
    const look = await open('builder');
    await look.says('.files', 'job.yaml');
    expect(await look.text('.begin')).toContain('Needs: a model, pairs of answers.');
    expect(await look.text('main')).not.toContain(bench.root);
    expect(await look.violations()).toEqual([]);
    await look.page.locator('.files ::-p-text(job.yaml)').click();
    await look.says('.verdict', 'No errors, 0 warnings.');
    await look.says('pre.output', 'Run: mode both, grpo');
    const started = 'section[aria-label="Started runs"] summary';
    const size = 'input[id="setting-buffer.batch_size"]';
    const set = async (text: string): Promise<void> => {
      await look.page.$eval(size, (input) => input.select());
      await look.type(size, `${text}\n`);
      await look.page.$eval(size, (input) => input.blur());
    };
    await set('0');
    await look.says('.verdict', '1 error');
    expect(await look.page.$eval(size, (input) => input.getAttribute('aria-invalid'))).toBe('true');
    expect(await look.text('[id="wrong-buffer.batch_size"]')).toContain('got 0');
    expect(await look.violations()).toEqual([]);
    await set('3');
    await look.says('.verdict', 'No errors');
    await look.page.locator('::-p-text(Start)').click();
    await look.says(started, 'running');
    expect(readFileSync(path.join(bench.root, 'job.yaml'), 'utf8')).toBe(
      job.replace('batch_size: 2', 'batch_size: 3'),
    );
    const button = 'li:has(a[href*=job]) button';
    const sure = 'li:has(a[href*=job]) .sure';
    const control = async (verb: string): Promise<void> => {
      await look.says(button, `${verb} runs/p/job`);
      await look.press(button);
      await look.press(sure);
    };
    await look.says(button, 'Stop');
    // The output, which grows, moves no button.
    expect(
      await look.page.$$eval('main section section', (all) => all.map((each) => each.ariaLabel)),
    ).toEqual(['Runs that can be stopped or resumed', 'Started runs']);
    await control('Stop');
    await look.says(started, 'ended with exit code 130');
    await control('Resume');
    await look.says(started, 'running');
    await control('Stop');
    const ends = `[...document.querySelectorAll('section[aria-label="Started runs"] strong')].map((each) => each.textContent).join()`;
    await look.page.waitForFunction(
      `${ends} === 'ended with exit code 130,ended with exit code 130'`,
    );
    expect(await look.text('pre.output')).toContain('Run: mode both, grpo');
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('keeps an edited text until its changes are discarded', { timeout }, async () => {
    const look = await open('builder');
    const back = '.builder-bar ::-p-text(Templates and configurations)';
    await look.page.locator('.files ::-p-text(job.yaml)').click();
    await look.says('.verdict', 'No errors');
    await look.page.$eval('.yaml textarea', (area) => area.select());
    await look.page.keyboard.press('Delete');
    await look.says('.verdict', 'The text is empty.');
    await look.type('.yaml textarea', 'name: other');
    await look.page.locator(back).click();
    await look.says('.builder-bar [role=group]', 'The changes are not saved.');
    expect(await look.violations()).toEqual([]);
    const asksToLeave = (wanted: boolean) =>
      look.page.waitForFunction(
        `dispatchEvent(new Event('beforeunload', { cancelable: true })) !== ${wanted}`,
      );
    await asksToLeave(true);
    // Without changes there is no question, and new changes ask none by themselves.
    const opened = readFileSync(path.join(bench.root, 'job.yaml'), 'utf8');
    await look.type('.yaml textarea', opened);
    await look.page.waitForSelector('.builder-bar > .quiet');
    await asksToLeave(false);
    await look.type('.yaml textarea', 'name: other');
    await look.page.waitForSelector('.builder-bar > .quiet');
    await look.page.locator(back).click();
    await look.page.locator('.builder-bar [role=group] ::-p-text(No)').click();
    await look.page.waitForSelector('.builder-bar > .quiet');
    const text = await look.page.$eval('.yaml textarea', (area) => area.value);
    expect(text).toBe('name: other');
    await look.page.locator(back).click();
    await look.page.locator('.builder-bar .sure').click();
    // The text of a file under another name is not lost.
    await look.page.locator('.files ::-p-text(job.yaml)').click();
    await look.type('.builder-bar input', 'copy.yaml');
    await look.page.locator(back).click();
    await look.page.waitForSelector('.begin .card');
    // A template that was not edited has nothing to lose.
    await look.page.locator('.begin .card').click();
    await look.page.waitForSelector('.yaml textarea');
    await look.page.locator(back).click();
    await look.page.waitForSelector('.begin .card');
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it(
    'says what it said of a draft until the draft is edited or checked again',
    { timeout },
    async () => {
      writeFileSync(path.join(bench.root, 'changed.yaml'), job);
      const look = await open('builder');
      const status = '[role=status].verdict';
      const button = (label: string) =>
        look.page.locator(`.builder-bar ::-p-text(${label})`).click();
      const conflict = async (text: string): Promise<void> => {
        await look.type('.yaml textarea', text);
        await button('Save');
        await look.says(status, 'has been changed since it was opened');
      };
      await look.page.locator('.files ::-p-text(changed.yaml)').click();
      await look.says(status, 'error');
      writeFileSync(path.join(bench.root, 'changed.yaml'), `${job}\n# Changed elsewhere.`);
      await conflict('name: [');
      await look.type('.yaml textarea', 'name: 2');
      await look.says(status, 'error');
      await conflict('name: 3');
      await button('Check again');
      await look.says(status, 'error');
      await conflict('name: 4');
      await look.page.locator('.builder-bar .quiet').click();
      await look.page.locator('.builder-bar .sure').click();
      await look.page.waitForSelector('.begin .card');
      expect(await look.page.$$('main [role=alert]')).toEqual([]);
      expect(look.problems).toEqual([]);
      await look.page.close();
    },
  );

  it('says at a setting why the text has no place for it', { timeout }, async () => {
    const look = await open('builder');
    await look.page.locator('.files ::-p-text(job.yaml)').click();
    await look.type('.yaml textarea', 'model: *b');
    await look.says('.builder [role=alert]', 'Unresolved alias');
    await look.type('.yaml textarea', 'model: 3');
    await look.type('.settings input[type=search]', 'model_path');
    await look.type('input[id="setting-model.model_path"]', './model\n');
    await look.says('[id="wrong-model.model_path"]', 'model is not a section. Remove its value');
    expect(await look.page.$eval('.yaml textarea', (area) => area.value)).toBe('model: 3');
    await look.type('.yaml textarea', 'model: ');
    await look.page.waitForSelector('[id="wrong-model.model_path"]', { hidden: true });
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('shows an error of a page in its place', { timeout }, async () => {
    const look = await open('runs');
    await look.page.evaluate(
      "const ask = fetch; globalThis.fetch = async (at, ...rest) => String(at).includes('builder/files') ? Response.json({}) : ask(at, ...rest)",
    );
    await look.page.locator('nav a[href^="#page=builder"]').click();
    await look.says('main > [role=alert]', 'undefined');
    await look.page.locator('nav a[href^="#page=runs"]').click();
    await look.page.waitForSelector('main table');
    expect(look.problems).toHaveLength(1);
    await look.page.close();
  });

  it('says at the run why it cannot be resumed', { timeout }, async () => {
    const look = await open('runs');
    const row = 'tr:has(a[href$="run=run"]) .run-control';
    await look.says(`${row} button`, 'Resume run');
    await look.page.locator(`${row} button`).click();
    await look.says(row, 'It continues from its last checkpoint');
    expect(await look.violations()).toEqual([]);
    await look.page.locator(`${row} .sure`).click();
    await look.says(`${row} [role=status]`, 'does not record from which configuration');
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('offers to resume a failed run, but not its failed evaluations', { timeout }, async () => {
    for (const folder of ['failing', 'failing/evaluations', 'served/evaluations']) {
      mkdirSync(path.join(bench.root, folder, 'log'), { recursive: true });
      writeFileSync(path.join(bench.root, folder, 'log/trinity.log'), '');
      writeFileSync(path.join(bench.root, folder, 'failure.txt'), 'Error: no memory');
    }
    const served = JSON.stringify({ stages: [{ mode: 'serve' }] });
    writeFileSync(path.join(bench.root, 'served/evaluations/settings.json'), served);
    const look = await open('runs');
    const row = (id: string) => `tr:has(a[href$="run=${encodeURIComponent(id)}"])`;
    await look.says(`${row('failing')} .run-control`, 'Resume failing');
    await look.says(`${row('served/evaluations')} .run-control`, 'Resume served/evaluations');
    await look.says(row('failing/evaluations'), 'no memory');
    expect(await look.text(`${row('failing/evaluations')} .run-control`)).toBe('');
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('shows hostile configurations as text', { timeout }, async () => {
    const look = await open('builder');
    await look.page.locator('.begin .card').click();
    await look.page.waitForSelector('textarea');
    const text = `name: ${JSON.stringify(attack)}\n${JSON.stringify(attack)}: 1\nmodel: { model_path: ${JSON.stringify(attack)} }\n`;
    await look.page.$eval(
      'textarea',
      (area, value) => {
        area.value = value;
        area.dispatchEvent(new Event('input', { bubbles: true }));
      },
      text,
    );
    await look.says('.findings', attack);
    await look.says('.settings', 'model_path');
    // The draft is there again after a look at another page.
    await look.page.locator('nav a[href^="#page=runs"]').click();
    await look.page.waitForSelector('main table');
    await look.page.locator('nav a[href^="#page=builder"]').click();
    await look.says('.settings', 'model_path');
    await look.says('.findings', attack);
    expect(await look.violations()).toEqual([]);
    expect(await look.intrusions()).toEqual([]);
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('lets two checkpoints answer side by side, token by token', { timeout }, async () => {
    for (const step of [2, 3])
      cpSync(path.join(practice, 'model'), path.join(bench.root, `run/global_step_${step}`), {
        recursive: true,
      });
    const look = await open('playground');
    const pane = (at: number): string => `section[aria-label="Model ${at}"]`;
    // The oldest and the newest of the run are there at first.
    await look.says(pane(1), 'Ask a question below');
    const chosen = (at: number) => look.page.$eval(`${pane(at)} select`, (select) => select.value);
    expect([await chosen(1), await chosen(2)]).toEqual(['run global_step_2', 'run global_step_3']);
    expect(await look.text(`${pane(2)} optgroup`)).toContain('Trained: step 3, the newest');
    expect(await look.violations()).toEqual([]);
    await look.page.select(`${pane(1)} select`, 'run global_step_2');
    await look.page.select(`${pane(2)} select`, 'run global_step_3');
    await look.type('.ask textarea', `${attack} 17*3=\n`);
    for (const at of [1, 2]) {
      await look.page.waitForSelector(`${pane(at)} button.token`);
      await look.says(`${pane(at)} .user`, attack);
      await look.says(`${pane(at)} pre`, `${attack} 17*3=`);
    }
    const said = (at: number) => look.text(`${pane(at)} .tokens`);
    // The same weights and the same seed.
    expect(await said(1)).toBe(await said(2));
    await look.page.focus(`${pane(2)} button.token`);
    await look.page.keyboard.press('Enter');
    await look.says(`${pane(2)} caption`, 'Token 1');
    expect(await look.page.$$(`${pane(2)} table tbody tr`)).toHaveLength(5);
    expect(await look.violations()).toEqual([]);
    expect(await look.intrusions()).toEqual([]);
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it(
    'suggests the models of the run in its address, until one is chosen or asked',
    { timeout },
    async () => {
      for (const at of ['run/global_step_2', 'run/global_step_3', 'second/global_step_4'])
        cpSync(path.join(practice, 'model'), path.join(bench.root, at), { recursive: true });
      mkdirSync(path.join(bench.root, 'second/monitor'), { recursive: true });
      writeFileSync(path.join(bench.root, 'second/monitor/metrics.jsonl'), '');
      const look = await open('playground');
      const chosen = (at: number, value: string) =>
        look.page.waitForFunction(
          `document.querySelector('section[aria-label="Model ${at}"] select')?.value === ${JSON.stringify(value)}`,
        );
      const to = (page: string, run: string) =>
        look.page.evaluate(`location.hash = 'page=${page}&run=${run}'`);
      await chosen(1, 'run global_step_2');
      await chosen(2, 'run global_step_3');
      await to('playground', 'second');
      await chosen(1, 'second global_step_4');
      await chosen(2, 'none');
      await to('playground', 'run');
      await chosen(1, 'run global_step_2');
      await to('playground', 'second/evaluations');
      await chosen(1, 'second global_step_4');
      // An answer that is stopped before its first token says so.
      await look.page.evaluate(
        "const real = fetch; globalThis.fetch = (url, options) => String(url).includes('/say') ? new Promise((_, reject) => options.signal.addEventListener('abort', () => reject(options.signal.reason))) : real(url, options)",
      );
      await look.type('.ask textarea', 'first\n');
      await look.says('section[aria-label="Model 1"]', 'Waiting for the first token');
      await to('runs', 'run');
      await look.page.waitForSelector('main table');
      await to('playground', 'run');
      await look.says('section[aria-label="Model 1"]', 'Stopped before the first token.');
      await chosen(1, 'second global_step_4');
      await look.type('.ask textarea', 'second\n');
      await look.page.locator('.ask ::-p-text(Stop)').click();
      await look.says('section[aria-label="Model 1"] .exchange:last-of-type', 'Stopped before');
      await look.page.setViewport({ width: 360, height: 900 });
      const inside =
        "document.querySelector('.pane select').getBoundingClientRect().right <= document.querySelector('.pane header').getBoundingClientRect().right";
      expect(await look.page.evaluate(inside)).toBe(true);
      expect(look.problems).toEqual([]);
      await look.page.close();
    },
  );

  it('ends the answer of a model when another model is chosen', { timeout }, async () => {
    for (const step of [2, 3])
      cpSync(path.join(practice, 'model'), path.join(bench.root, `run/global_step_${step}`), {
        recursive: true,
      });
    const look = await open('playground');
    const pane = 'section[aria-label="Model 1"]';
    await look.says(pane, 'Ask a question below');
    await look.page.select('section[aria-label="Model 2"] select', 'none');
    // Each answer lasts until the page aborts it.
    await look.page.evaluate(`
      globalThis.asked = [];
      const real = fetch;
      globalThis.fetch = async (url, options) => {
        if (!String(url).includes('/say')) return real(url, options);
        const answer = { signal: options.signal };
        const body = new ReadableStream({ start: (stream) => {
          const line = (part) => stream.enqueue(new TextEncoder().encode(JSON.stringify(part) + '\\n'));
          answer.say = (text) => { try { line({ kind: 'text', text }); } catch { /* The page has left. */ } };
        } });
        asked.push(answer);
        return new Response(body);
      };`);
    await look.type('.ask textarea', 'first\n');
    await look.page.waitForFunction('globalThis.asked.length === 1');
    await look.page.evaluate("asked[0].say('old ')");
    await look.says(pane, 'old');
    await look.page.select(`${pane} select`, 'run global_step_3');
    await look.says(pane, 'Ask a question below');
    await look.type('.ask textarea', 'second\n');
    await look.page.waitForFunction('globalThis.asked.length === 2');
    await look.page.evaluate("asked[0].say('old '); asked[1].say('new')");
    await look.says(pane, 'new');
    expect(await look.text(`${pane} .turn.model`)).not.toContain('old');
    expect(await look.page.evaluate('asked.map(({ signal }) => signal.aborted)')).toEqual([
      true,
      false,
    ]);
    await look.page.locator('.ask ::-p-text(Stop)').click();
    await look.page.waitForFunction('globalThis.asked[1].signal.aborted');
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it(
    'gives each answer of a product its own attempt, at the task it was asked',
    { timeout },
    async () => {
      const look = await open('playground');
      const { page } = look;
      await look.says('main', 'Product behind');
      await page.select('section[aria-label="Model 1"] select', 'product');
      await page.select('section[aria-label="Model 2"] select', 'none');
      await page.evaluate(`
      globalThis.asked = [];
      globalThis.given = [];
      const real = fetch;
      globalThis.fetch = async (url, { body, ...options } = {}) => {
        const path = String(url);
        if (path.endsWith('/feedback')) given.push(JSON.parse(body));
        if (path.endsWith('/feedback')) return Response.json({ applied: 1 });
        if (!path.endsWith('/ask')) return real(url, { body, ...options });
        asked.push(JSON.parse(body).messages);
        if (asked.length === 1) return Response.json({ error: 'Busy.' }, { status: 503 });
        return Response.json({ id: 'answer ' + asked.length, text: 'yes', tokens: [] });
      };`);
      const ask = async (question: string, count: number, shown: string): Promise<void> => {
        await look.type('.ask textarea', `${question}\n`);
        await page.waitForFunction(`asked.length === ${count}`);
        await look.says('section[aria-label="Model 1"] .exchange:last-of-type', shown);
      };
      const judge = async (count: number): Promise<void> => {
        await page.locator('::-p-text(Good answer)').click();
        await page.waitForFunction(`given.length === ${count}`);
      };
      await ask('one', 1, 'Busy.');
      await ask('two', 2, 'yes');
      await judge(1);
      await page.locator('.ask [aria-label="New conversation"]').click();
      await ask('two', 3, 'yes');
      // The answer stays one to what was asked.
      await look.type('.settings-panel textarea', 'Be brief.');
      await judge(2);
      await page.locator('.ask [aria-label="New conversation"]').click();
      await ask('two', 4, 'yes');
      await judge(3);
      // A question without an answer is not part of the conversation.
      expect((await page.evaluate('asked')) as unknown).toEqual([
        [{ role: 'user', content: 'one' }],
        [{ role: 'user', content: 'two' }],
        [{ role: 'user', content: 'two' }],
        [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'two' },
        ],
      ]);
      const given = (await page.evaluate('given')) as readonly { task: string; run: number }[];
      expect(given.map(({ run }) => run)).toEqual([0, 1, 0]);
      const tasks = given.map(({ task }) => task);
      expect([tasks[1] === tasks[0], tasks[2] === tasks[0]]).toEqual([true, false]);
      expect(look.problems).toEqual([]);
      await page.close();
    },
  );

  it('scores the tokens of a conversation with a checkpoint', { timeout }, async () => {
    cpSync(path.join(practice, 'model'), path.join(bench.root, 'run/global_step_2'), {
      recursive: true,
    });
    const look = await browser.open(`${studio.url}&page=rollouts&run=run&rollout=1`);
    await look.says('#rollout-view', 'entropy by the checkpoint (score it first)');
    await look.page.waitForSelector('.scoring button');
    await look.page.select('.scoring select', 'global_step_2');
    await look.page.locator('.scoring button').click();
    await look.says('#rollout-view [role=status]', 'Scored with global_step_2');
    await look.page.select('#rollout-view select', 'ratio');
    await look.says('#rollout-view .controls small', 'likelier by the checkpoint');
    const title = await look.page.$eval('.token.sampled', (token) => token.getAttribute('title'));
    expect(title).toMatch(/log-probability by the checkpoint -.*entropy [\d.]+, ratio [\d.]+/);
    expect(await look.violations()).toEqual([]);
    expect(look.problems).toEqual([]);
    await look.page.close();
  });

  it('gives feedback to a product that learns', { timeout }, async () => {
    writeFileSync(path.join(bench.root, 'serve.yaml'), serve);
    const stop = new AbortController();
    let ended: Promise<unknown> = Promise.resolve();
    const { url, apiKey } = await new Promise<ServeAddress>((onOpen, reject) => {
      const terminal = { write: () => undefined, isInteractive: false } as unknown as Terminal;
      const product = { configPath: 'serve.yaml', cwd: bench.root, terminal, signal: stop.signal };
      ended = run({ ...product, serve: { port: 0, onOpen } });
      ended.catch(reject);
    });
    const look = await open('playground');
    await look.says('main', 'Product behind');
    await look.page.select('section[aria-label="Model 1"] select', 'product');
    await look.page.select('section[aria-label="Model 2"] select', 'none');
    await look.type('input[type=url]', url);
    await look.type('input[type=password]', `${apiKey}x`);
    await look.type('.ask textarea', '17*3=\n');
    await look.says('section[aria-label="Model 1"]', 'status 401');
    await look.page.focus('input[type=password]');
    await look.page.keyboard.press('End');
    await look.page.keyboard.press('Backspace');
    await look.type('.ask textarea', '17*3=\n');
    await look.page.waitForSelector('button.token');
    await look.page.locator('::-p-text(Good answer)').click();
    await look.says('section[aria-label="Model 1"]', 'Reward 1 given.');
    await look.page.locator('::-p-text(Train on the feedback)').click();
    await look.says('fieldset', '1 experience of 1 answer became training data.');
    expect(await look.violations()).toEqual([]);
    expect(look.problems).toEqual([]);
    await look.page.close();
    stop.abort();
    await ended;
  });
});
