import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@trinity-rft/core';
import { createWebShop } from '@trinity-rft/worlds';
import { webshop } from '../../src/worlds/webshop/definition.js';
import { readShopFiles } from '../../src/worlds/webshop/files/read-files.js';
import { expect, it, onTestFinished } from 'vitest';

const { signal } = new AbortController();
const context = { logger: silentLogger, signal };

it.each([0, '50'])('has no shop of %j products', async (count) => {
  const numProducts = count as number;
  await expect(createWebShop({ numProducts })).rejects.toThrow(
    `numProducts is ${JSON.stringify(count)}; expected a whole number of at least 1.`,
  );
});

it('leads from the search to a purchase, and back', async () => {
  const shop = await createWebShop({ numProducts: 60 });
  expect(shop.reset(3)).toBe(
    `WebShop\nInstruction:\n${shop.instructionText}\n[button] Search [button_]`,
  );
  expect(shop.getAvailableActions()).toEqual({ hasSearchBar: true, clickables: ['search'] });
  expect(shop.step('click[Buy Now]')).toMatchObject({ reward: 0, done: false });

  const results = shop.step('Search[Lamp]').observation;
  expect(results).toContain('[button] Back to Search [button_]\nPage 1 (Total results: ');
  const asin = /\n\n\[button\] (\w{10}) \[button_\]\n/.exec(results)?.[1] ?? '';
  const item = shop.step(`click[${asin}]`).observation;
  expect(item).toMatch(/\ncolor\n {2}\[button\] .* \[button_\]\n/);
  expect(shop.getAvailableActions().hasSearchBar).toBe(false);
  expect(shop.step('search[chair]').observation).toBe(item);

  const color = /color\n {2}\[button\] (.*) \[button_\]/.exec(item)?.[1] ?? '';
  const chosen = shop.step(`click[${color}]`).observation;
  expect(chosen.startsWith(`You have clicked ${color}.\nInstruction:`)).toBe(true);
  expect(chosen).toContain(`  [clicked button] ${color} [clicked button_]`);
  expect(shop.step('click[description]').observation).not.toContain('Buy Now');
  expect(shop.step('click[< prev]').observation).toBe(chosen);
  expect(shop.step('click[< prev]').observation).toContain(`[clicked button] ${asin} [clicked`);
  expect(shop.step('click[next >]').observation).toContain('Page 2 (');
  expect(shop.step('click[back to search]').observation).toContain('[button] Search [button_]');
});

it('shows a page on one line', async () => {
  const shop = await createWebShop({ numProducts: 20, observationMode: 'text' });
  expect(shop.observation).toMatch(/^WebShop \[SEP\] Instruction: \[SEP\] .+ \[SEP\] Search$/);
});

it('says what can be done when an action is not possible', async () => {
  const environment = await webshop.open({ level: 1, unfinished_reward: -0.1 }, context);
  const [row = {}] = webshop.tasks?.({ split: 'train', count: 1, seed: 1 }, { level: 1 }) ?? [];
  const episode = await environment.reset({ row, seed: 0 }, signal);
  expect(await episode.step({ type: 'text', text: 'buy it' }, signal)).toMatchObject({
    refused: true,
    observation: expect.stringContaining('search[words] is possible here') as string,
  });
  expect(await episode.grade?.(signal)).toBe(-0.1);
});

it('says once that scores on the generated catalogue are others', async () => {
  const said: string[] = [];
  const logger = { ...silentLogger, info: (text: string) => void said.push(text) };
  await webshop.open({ level: 1 }, { logger, signal });
  expect(said).toEqual([
    'webshop: the catalogue is generated, so scores are not those of WebShop.',
  ]);
});

const files = {
  'items_shuffle_1000.json': [
    {
      asin: 'B000000001',
      name: 'Acme Trail Running Shoes',
      query: 'Running Shoes',
      category: 'fashion',
      product_category: 'Clothing › Women › Shoes',
      full_description: 'For trails.',
      small_description: ['Rubber sole'],
      pricing: '$20.00$30.00',
      customization_options: { Color: [{ value: 'Black/White' }, { value: 'Red' }], Size: null },
    },
  ],
  'items_ins_v2_1000.json': { B000000001: { attributes: ['rubber sole'] } },
  'items_human_ins.json': {
    B000000001: [
      {
        instruction: 'i want running shoes.',
        instruction_attributes: ['rubber sole'],
        instruction_options: ['red'],
      },
    ],
  },
};

function folderWith(contents: Readonly<Record<string, unknown>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'webshop-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, value] of Object.entries(contents))
    writeFileSync(join(folder, name), JSON.stringify(value));
  return folder;
}

it("opens the shop of WebShop's own files", async () => {
  const environment = await webshop.open({ data_path: folderWith(files) }, context);
  const episode = await environment.reset({ row: { session: '0' }, seed: 0 }, signal);
  expect(episode.observation).toMatch(/i want running shoes, and price lower than \d0\.00 dollars/);
  const act = (text: string) => episode.step({ type: 'text', text }, signal);
  await act('search[shoes]');
  expect((await act('click[b000000001]')).observation).toContain(
    '  [button] black | white [button_]',
  );
  await act('click[red]');
  expect(await act('click[buy now]')).toMatchObject({ reward: 1, done: true });
  await expect(environment.reset({ row: { session: 7 }, seed: 0 }, signal)).rejects.toThrow(
    /no session 7 of webshop: the files have 1/,
  );
});

it.each(['A B A C', 'A B C A', 'A A B B C C'])(
  'numbers sessions alike with duplicates: %s',
  async (list) => {
    const shopOf = (numbers: string) => {
      const [product] = files['items_shuffle_1000.json'];
      const [goal] = files['items_human_ins.json'].B000000001;
      const goals = ['A', 'B', 'C'].map((asin) => [asin, [{ ...goal, instruction: asin }]]);
      const folder = folderWith({
        'items_shuffle_1000.json': numbers.split(' ').map((asin) => ({ ...product, asin })),
        'items_ins_v2_1000.json': {},
        'items_human_ins.json': Object.fromEntries(goals),
      });
      return readShopFiles(folder, true);
    };
    expect(await shopOf(list)).toEqual(await shopOf('A B C'));
  },
);

it('says which file is missing or wrong', async () => {
  await expect(webshop.open({ data_path: folderWith({}) }, context)).rejects.toThrow(
    /no file like \^items_shuffle/,
  );
  const broken = { ...files, 'items_ins_v2_1000.json': { B000000001: { attributes: 3 } } };
  await expect(webshop.open({ data_path: folderWith(broken) }, context)).rejects.toThrow(
    /items_ins_v2_1000\.json is not as WebShop has it.*\n.*B000000001\.attributes/,
  );
});
