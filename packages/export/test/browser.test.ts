/** Runs an export for transformers.js in a headless browser, without network access. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createChatFormat, loadTokenizer } from '@trinity-rft/chat';
import { createOnnxEngine, saveTransformersJs } from '@trinity-rft/engine-onnx';
import { findChromium } from '@trinity-rft/test-support';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { embeddedPlayer } from '../src/check/embedded.js';
import type { Player } from '../src/check/player.js';
import { transformersPlayer } from '../src/check/transformers-js.js';

const practice = fileURLToPath(
  new URL('../../../apps/create/templates/practice/model', import.meta.url),
);
const fixtures = fileURLToPath(new URL('../../engine-onnx/test/fixtures', import.meta.url));
const dist = (resolved: string): string => path.dirname(fileURLToPath(resolved));
const chromium = await findChromium();

const page = `<!doctype html><script type="module">
import { AutoModelForCausalLM, AutoTokenizer, Tensor, env } from '/lib/transformers.js';
env.allowRemoteModels = false;
env.allowLocalModels = true;
env.localModelPath = '/models/';
env.useBrowserCache = false;
env.backends.onnx.wasm.wasmPaths = '/ort/';
env.backends.onnx.wasm.numThreads = 1;
const tensor = (ids) => new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]);
const inputs = (ids) => ({ input_ids: tensor(ids), attention_mask: tensor(ids.map(() => 1)) });
const score = async (model, all) => {
  const { logits } = await model(inputs(all));
  const width = logits.dims.at(-1);
  return all.slice(1).map((token, i) => {
    const row = logits.data.slice(i * width, (i + 1) * width);
    const most = row.reduce((a, b) => Math.max(a, b));
    return row[token] - most - Math.log(row.reduce((sum, x) => sum + Math.exp(x - most), 0));
  });
};
window.score = async (name, dtype, all) => {
  const model = await AutoModelForCausalLM.from_pretrained(name, { dtype, device: 'wasm' });
  const logprobs = await score(model, all);
  await model.dispose();
  return logprobs;
};
window.play = async (name, dtype, messages, mostTokens) => {
  const tokenizer = await AutoTokenizer.from_pretrained(name);
  const model = await AutoModelForCausalLM.from_pretrained(name, { dtype, device: 'wasm' });
  const text = tokenizer.apply_chat_template(messages, { tokenize: false, add_generation_prompt: true });
  const prompt = tokenizer.encode(text, { add_special_tokens: false });
  const output = await model.generate({ ...inputs(prompt), max_new_tokens: mostTokens, do_sample: false });
  const all = Array.from(output.data, Number);
  const logprobs = await score(model, all);
  await model.dispose();
  return { text, all, logprobs, answer: tokenizer.decode(all.slice(prompt.length), { skip_special_tokens: true }) };
};
window.ready = true;
</script>`;

interface Played {
  readonly text: string;
  readonly all: readonly number[];
  readonly logprobs: readonly number[];
  readonly answer: string;
}

describe.skipIf(chromium === undefined)('an export in a browser (needs Chromium)', () => {
  let folder = '';
  let server: Server;
  let browser: Browser;
  let tab: Page;
  const asked: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'trinity-browser-'));
    await saveTransformersJs({
      from: practice,
      to: path.join(folder, 'model'),
      dtypes: ['fp32', 'q8'],
    });
    await saveTransformersJs({
      from: practice,
      to: path.join(folder, 'beside'),
      dtypes: ['fp16'],
      mostBytesInFile: 100_000,
    });
    const folders: Readonly<Record<string, string>> = {
      lib: dist(import.meta.resolve('@huggingface/transformers')),
      ort: dist(import.meta.resolve('onnxruntime-web')),
      models: folder,
    };
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost');
      const [, top = '', ...rest] = pathname.split('/');
      if (top === '') return void response.setHeader('content-type', 'text/html').end(page);
      const type = /\.m?js$/.test(pathname)
        ? 'text/javascript'
        : pathname.endsWith('.wasm')
          ? 'application/wasm'
          : 'application/octet-stream';
      void readFile(path.join(folders[top] ?? '/none', ...rest)).then(
        (bytes) => response.setHeader('content-type', type).end(bytes),
        () => response.writeHead(404).end(),
      );
    });
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
    browser = await puppeteer.launch({ executablePath: chromium!, args });
    tab = await browser.newPage();
    tab.on('request', (request) => void asked.push(new URL(request.url()).host));
    await tab.goto(`http://127.0.0.1:${port}/`);
    await tab.waitForFunction('window.ready === true', { timeout: 60_000 });
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const messages = [{ role: 'user', content: '85*11' }] as const;
  const play = (dtype: string, name = 'model'): Promise<Played> =>
    tab.evaluate(
      `window.play('${name}', '${dtype}', ${JSON.stringify(messages)}, 16)`,
    ) as Promise<Played>;

  async function beside(
    player: Player,
    played: Played,
  ): Promise<{ largest: number; answer: string }> {
    const { logprobs } = await player.score(Int32Array.from(played.all));
    const prompt = player.encode(played.text);
    const answer = player.decode(await player.greedy(prompt, 16));
    await player.close();
    const largest = played.logprobs.reduce(
      (most, x, i) => Math.max(most, Math.abs(x - (logprobs[i] ?? NaN))),
      0,
    );
    return { largest, answer };
  }

  it(
    'has the log-probabilities and the greedy text of the checkpoint in float32',
    { timeout: 120_000 },
    async () => {
      const played = await play('fp32');
      const format = createChatFormat({ tokenizer: await loadTokenizer(practice) });
      const { largest, answer } = await beside(await embeddedPlayer(practice, format), played);
      expect(played.text).toBe(format.render({ messages }));
      expect(largest).toBeLessThan(1e-5);
      expect(played.answer).toBe(answer);
    },
  );

  it('is close to Node in 8 bits', { timeout: 120_000 }, async () => {
    const played = await play('q8');
    const player = await transformersPlayer(path.join(folder, 'model'), 'q8');
    const { largest, answer } = await beside(player, played);
    // WebAssembly sums 8-bit products in float32, Node in integers.
    expect(largest).toBeLessThan(0.1);
    expect(played.answer).toBe(answer);
  });

  it(
    'is as in Node in 16 bits, with its weights in files beside',
    { timeout: 120_000 },
    async () => {
      expect(await readdir(path.join(folder, 'beside/onnx'))).toContain('model_fp16.onnx_data_1');
      const played = await play('fp16', 'beside');
      const player = await transformersPlayer(path.join(folder, 'beside'), 'fp16');
      const { largest, answer } = await beside(player, played);
      expect(largest).toBeLessThan(1e-5);
      expect(played.answer).toBe(answer);
    },
  );

  it('computes every family as the engine does', { timeout: 300_000 }, async () => {
    const named = await readdir(fixtures);
    // The gated delta rule and heads of two widths are not implemented for transformers.js.
    const refused = ['qwen3_5_text', 'gemma4_text'];
    const families = named.filter(
      (name) => !refused.includes(name) && existsSync(path.join(fixtures, name, 'batch.json')),
    );
    const tokens = Int32Array.from({ length: 24 }, (_, i) => (i * 7 + 3) % 40);
    const differences: [string, string, boolean][] = [];
    for (const name of families) {
      const from = path.join(fixtures, name);
      await saveTransformersJs({ from, to: path.join(folder, name), dtypes: ['fp32', 'q8'] });
      const engine = await createOnnxEngine({ modelPath: from, threads: 1 });
      const row = { tokens, promptLength: 1, temperature: 1 };
      const { logprobs } = await engine.trainer.forward({ rows: [row] });
      await engine.close();
      for (const [dtype, limit] of [
        ['fp32', 1e-5],
        ['q8', 0.5],
      ] as const) {
        const asked = `window.score('${name}', '${dtype}', ${JSON.stringify([...tokens])})`;
        const found = (await tab.evaluate(asked)) as readonly number[];
        const largest = found.reduce((most, x, i) => Math.max(most, Math.abs(x - logprobs[i]!)), 0);
        differences.push([name, dtype, found.length === 23 && largest < limit]);
      }
    }
    expect(families.length).toBeGreaterThanOrEqual(10);
    expect(differences.filter(([, , isClose]) => !isClose)).toEqual([]);
  });

  it('asks nobody but its own server', () => {
    expect(new Set(asked).size).toBe(1);
  });
});
