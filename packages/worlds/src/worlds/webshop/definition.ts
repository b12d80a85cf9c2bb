import { type RawTask, TaskError } from '@trinity-rft/core';
import { defineEnvironment, nativeEnvironment, rowsOfSplit } from '@trinity-rft/environment';
import { z } from 'zod';
import { rememberLast } from '../shared/remember-last.js';
import { readRow } from '../shared/row.js';
import { drawGoal } from './catalogue/goals.js';
import { generateProducts } from './catalogue/products.js';
import { type OpenShop, openShop, type ShopOptions } from './open-shop.js';
import type { Goal, Product } from './shop/product.js';
import { shopSolver, shopWorld } from './world.js';

const argsSchema = z.strictObject({
  /**
   * Difficulty. 1: 100 products, goals with one attribute and option; 2: 1,000 products, goals with
   * two of each; 3: goals with three attributes.
   */
  level: z.int().min(1).max(3).default(2),
  catalogue_seed: z.int().min(0).default(0),
  /**
   * Folder with WebShop's files, which replace the generated shop. Each row then names a session.
   */
  data_path: z.string().optional(),
  human_goals: z.boolean().default(true),
  /** Reward of an episode that ends without a purchase. */
  unfinished_reward: z.number().default(0),
});
type Args = z.infer<typeof argsSchema>;

const levels = [
  { products: 100, attributes: 1, options: 1 },
  { products: 1000, attributes: 2, options: 2 },
  { products: 1000, attributes: 3, options: 2 },
] as const;
const levelOf = ({ level }: Args) => levels[level - 1] ?? levels[1];

const goalSchema = z.object({
  asin: z.string(),
  query: z.string(),
  name: z.string(),
  productCategory: z.string(),
  attributes: z.array(z.string()).min(1),
  goalOptions: z.union([z.array(z.string()), z.record(z.string(), z.string())]),
  priceUpper: z.number(),
  instruction: z.string(),
});

/**
 * Schema of a row: a goal or, as in Trinity-RFT, a session number. The session number is the index
 * of a goal in WebShop's files, or the seed of a generated goal.
 */
const rowSchema = z.union([goalSchema, z.object({ session: z.coerce.number().int().min(0) })]);

/** Shopping environment with WebShop's actions, pages and reward (arXiv:2207.01206). */
export const webshop = defineEnvironment({
  name: 'webshop',
  description: 'Find, configure and buy the product that a customer describes.',
  args: argsSchema,
  rows: rowSchema,
  play: { maxTurns: 15, actionFormat: '<action>{action}</action>', reward: 'sum' },
  open: async (args, { logger }) => {
    if (args.data_path === undefined)
      logger.info('webshop: the catalogue is generated, so scores are not those of WebShop.');
    const shop = await openShop(shopOptions(args));
    return nativeEnvironment(({ row }) =>
      shopWorld(shop, goalOf(row, shop, args), args.unfinished_reward),
    );
  },
  tasks: (range, args) => {
    if (args.data_path !== undefined) throw sessionsNeeded();
    const products = productsOf(args);
    return rowsOfSplit(
      range,
      (seed) => ({ ...drawGoal(products, levelOf(args), seed) }),
      ({ asin, attributes, goalOptions }) => JSON.stringify([asin, attributes, goalOptions]),
    );
  },
  solver: ({ row }, args) => {
    const goal = readRow(goalSchema, row, 'webshop');
    const product = productsOf(args).find(({ asin }) => asin === goal.asin);
    return product === undefined ? () => undefined : shopSolver(goal, product);
  },
});

const shopOptions = (args: Args): ShopOptions => ({
  productCount: levelOf(args).products,
  catalogueSeed: args.catalogue_seed,
  dataPath: args.data_path,
  humanGoals: args.human_goals,
});

const productsFor = rememberLast(generateProducts);
const productsOf = (args: Args): readonly Product[] =>
  productsFor(levelOf(args).products, args.catalogue_seed);

const sessionsNeeded = () =>
  new TaskError(
    'With environment_args.data_path, webshop does not generate tasks. Write a task set whose rows name sessions: {"session": 1500}.',
    { code: 'TASK_ROW' },
  );

function goalOf(row: RawTask, { goals, products }: OpenShop, args: Args): Goal {
  const goal = readRow(rowSchema, row, 'webshop');
  if (!('session' in goal)) return goal;
  if (args.data_path === undefined)
    return drawGoal([...products.values()], levelOf(args), goal.session);
  const found = goals[goal.session];
  if (found !== undefined) return found;
  throw new TaskError(
    `There is no session ${goal.session} of webshop: the files have ${goals.length}.`,
    { code: 'TASK_ROW' },
  );
}
