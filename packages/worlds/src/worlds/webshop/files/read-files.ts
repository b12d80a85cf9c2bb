/** Reads WebShop's product files. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRandom, deriveSeed, ConfigError } from '@trinity-rft/core';
import { z } from 'zod';
import { priceLimit } from '../shop/price-limit.js';
import type { Goal, Product } from '../shop/product.js';
import { pythonShuffle } from './python-random.js';

export interface ShopFiles {
  readonly products: readonly Product[];
  /** Goals in the order of WebShop's session numbers. */
  readonly goals: readonly Goal[];
}

const option = z.object({ value: z.string() });
const productSchema = z.object({
  asin: z.string(),
  name: z.string(),
  query: z.string(),
  category: z.string().nullish(),
  product_category: z.string(),
  full_description: z.string().nullish(),
  small_description: z.union([z.array(z.string()), z.string()]).nullish(),
  pricing: z.string().nullish(),
  customization_options: z
    .record(z.string(), z.array(option).nullable())
    .or(z.literal(''))
    .nullish(),
});
const attributesSchema = z.record(
  z.string(),
  z.object({
    attributes: z.array(z.string()).nullish(),
    instruction: z.string().nullish(),
    instruction_attributes: z.array(z.string()).nullish(),
  }),
);
const humanSchema = z.record(
  z.string(),
  z.array(
    z.object({
      instruction: z.string(),
      instruction_attributes: z.array(z.string()),
      instruction_options: z.union([z.array(z.string()), z.record(z.string(), z.string())]),
    }),
  ),
);
const reviewsSchema = z.array(
  z.object({
    asin: z.string(),
    average_rating: z.union([z.string(), z.number()]).nullish(),
    reviews: z.array(
      z.object({
        title: z.string().nullish(),
        stars: z.union([z.string(), z.number()]).nullish(),
        review: z.string().nullish(),
      }),
    ),
  }),
);

type RawProduct = z.infer<typeof productSchema>;
type Attributes = z.infer<typeof attributesSchema>[string];
type Reviews = z.infer<typeof reviewsSchema>[number];

/**
 * Reads `items_shuffle*.json`, `items_ins_v2*.json` and, if present, `reviews.json`. The goals come
 * from `items_human_ins.json` if `humanGoals` is set; otherwise they are generated from the
 * products.
 * @throws ConfigError if a required file is missing or not in WebShop's format
 */
export async function readShopFiles(folder: string, humanGoals: boolean): Promise<ShopFiles> {
  const names = await listFolder(folder);
  const read = async <T>(pattern: RegExp, schema: z.ZodType<T>): Promise<T> => {
    const name = names.find((each) => pattern.test(each));
    if (name === undefined) throw missing(folder, pattern);
    return readJson(join(folder, name), schema);
  };
  const raw = await read(/^items_shuffle.*\.json$/, z.array(productSchema));
  const attributes = await read(/^items_ins_v2.*\.json$/, attributesSchema);
  const hasReviews = names.includes('reviews.json');
  const reviews = hasReviews ? await read(/^reviews\.json$/, reviewsSchema) : [];
  const reviewsOf = new Map(reviews.map((each) => [each.asin, each]));
  const products = distinct(raw).map((product) =>
    productOf(product, attributes[product.asin], reviewsOf.get(product.asin)),
  );
  const goals = humanGoals
    ? goalsOfPeople(products, await read(/^items_human_ins\.json$/, humanSchema))
    : syntheticGoals(products, attributes);
  return { products, goals: pythonShuffle(goals, 233) };
}

async function listFolder(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (cause) {
    throw new ConfigError(
      `environment_args.data_path: the folder ${folder} cannot be read. Name the folder that holds WebShop's items_shuffle*.json and items_ins_v2*.json.`,
      { code: 'WEBSHOP_FILES', cause },
    );
  }
}

const missing = (folder: string, pattern: RegExp) =>
  new ConfigError(
    `environment_args.data_path: ${folder} has no file like ${pattern.source}. WebShop's setup downloads it.`,
    { code: 'WEBSHOP_FILES' },
  );

async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new ConfigError(
      `${path} cannot be read as JSON. A file above 512 MB does not fit into one text: take WebShop's files of 1,000 products.`,
      { code: 'WEBSHOP_FILES', cause },
    );
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ConfigError(`${path} is not as WebShop has it. ${z.prettifyError(result.error)}`, {
    code: 'WEBSHOP_FILES',
  });
}

/**
 * Returns the products that have a valid ASIN, only the first for each ASIN. Keeps the order,
 * because the goals and thus the session numbers depend on it.
 */
const distinct = (raw: readonly RawProduct[]): readonly RawProduct[] =>
  [...Map.groupBy(raw, ({ asin }) => asin).values()]
    .flatMap(([first]) => first ?? [])
    .filter(({ asin }) => asin !== 'nan' && asin.length <= 10);

function productOf(raw: RawProduct, attributes?: Attributes, reviews?: Reviews): Product {
  const bullets = raw.small_description ?? [];
  return {
    asin: raw.asin,
    title: raw.name,
    query: raw.query.toLowerCase().trim(),
    productCategory: raw.product_category,
    description: raw.full_description ?? '',
    bulletPoints: Array.isArray(bullets) ? bullets : [bullets],
    attributes: attributes?.attributes ?? ['DUMMY_ATTR'],
    options: optionsOf(raw),
    ...priceOf(raw),
    rating: String(reviews?.average_rating ?? 'N.A.'),
    reviews: (reviews?.reviews ?? []).map(({ title, stars, review }) => ({
      title: title ?? '',
      score: String(stars ?? ''),
      body: review ?? '',
    })),
  };
}

function optionsOf({ customization_options: given }: RawProduct): Product['options'] {
  const values = (all: readonly { readonly value: string }[]) =>
    all.map(({ value }) => value.trim().replaceAll('/', ' | ').toLowerCase());
  return Object.fromEntries(
    Object.entries(given === '' ? {} : (given ?? {})).flatMap(([name, all]) =>
      all === null ? [] : [[name.toLowerCase(), values(all)]],
    ),
  );
}

/**
 * Returns the price of a product in dollars. If the files give a price range, the price is drawn
 * from the range with a seed from the product's ASIN.
 */
function priceOf({ asin, pricing }: RawProduct): Pick<Product, 'price' | 'priceTag'> {
  const [least = 100, most] = (pricing ?? '')
    .split('$')
    .slice(1)
    .map((text) => Number(text.replace(/[^\d.]/g, '')))
    .filter(Number.isFinite);
  if (most === undefined) return { price: least, priceTag: `$${pythonFloat(least)}` };
  const share = createRandom(deriveSeed(0, 'price', asin)).next();
  const priceTag = `$${pythonFloat(least)} to $${pythonFloat(most)}`;
  return { price: least + share * (most - least), priceTag };
}

const pythonFloat = (value: number): string =>
  Number.isInteger(value) ? value.toFixed(1) : String(value);

function goalsOfPeople(products: readonly Product[], said: z.infer<typeof humanSchema>): Goal[] {
  return products.flatMap((product) =>
    (said[product.asin] ?? [])
      .filter(({ instruction_attributes: attributes }) => attributes.length > 0)
      .map(({ instruction, instruction_attributes, instruction_options }) =>
        goalOf(product, {
          instruction: instruction.replace(/^\.+|\.+$/g, ''),
          attributes: instruction_attributes,
          goalOptions: instruction_options,
        }),
      ),
  );
}

/** Creates one goal for each combination of options. */
function syntheticGoals(
  products: readonly Product[],
  attributes: z.infer<typeof attributesSchema>,
): Goal[] {
  return products.flatMap((product) => {
    const { instruction, instruction_attributes: wanted } = attributes[product.asin] ?? {};
    if (typeof instruction !== 'string' || !wanted) return [];
    return combinations(product.options).map((goalOptions) => {
      const parts = Object.entries(goalOptions).map(([name, value]) => `${name}: ${value}`);
      const ending = parts.length === 0 ? '' : ` with ${parts.join(', and ')}`;
      return goalOf(product, {
        instruction: `${instruction}${ending}`,
        attributes: wanted,
        goalOptions,
      });
    });
  });
}

function combinations(options: Product['options']): readonly Readonly<Record<string, string>>[] {
  const names = Object.keys(options).toSorted();
  return names.reduce<readonly Readonly<Record<string, string>>[]>(
    (all, name) =>
      all.flatMap((chosen) => (options[name] ?? []).map((value) => ({ ...chosen, [name]: value }))),
    [{}],
  );
}

function goalOf(
  product: Product,
  goal: Pick<Goal, 'instruction' | 'attributes' | 'goalOptions'>,
): Goal {
  const random = createRandom(deriveSeed(0, 'limit', product.asin, goal.instruction));
  const priceUpper = priceLimit(product.price, random);
  const limit = priceUpper > 1000 ? '' : `, and price lower than ${priceUpper.toFixed(2)} dollars`;
  return {
    ...goal,
    asin: product.asin,
    query: product.query,
    name: product.title,
    productCategory: product.productCategory,
    priceUpper,
    instruction: `${goal.instruction}${limit}`,
  };
}
