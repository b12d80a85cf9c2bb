/** Opens a shop, reading it from WebShop's files or generating it. */
import { catalogueNouns } from './catalogue/vocabulary.js';
import { generateProducts } from './catalogue/products.js';
import { likelyNouns } from './files/nouns.js';
import { readShopFiles } from './files/read-files.js';
import type { Goal, Product } from './shop/product.js';
import { type Nouns } from './shop/reward.js';
import { searchIndex } from './shop/search.js';
import type { Shop } from './shop/session.js';

export interface ShopOptions {
  /** Number of products to generate if `dataPath` is not set. */
  readonly productCount: number;
  readonly catalogueSeed: number;
  /** Folder with WebShop's files. */
  readonly dataPath?: string | undefined;
  readonly humanGoals: boolean;
}

export interface OpenShop extends Shop {
  /** Goals of the files, indexed by session number. Empty if the shop is generated. */
  readonly goals: readonly Goal[];
}

export async function openShop(options: ShopOptions): Promise<OpenShop> {
  const { dataPath, humanGoals } = options;
  if (dataPath === undefined) {
    const products = generateProducts(options.productCount, options.catalogueSeed);
    return shopOf(products, [], catalogueNouns);
  }
  const { products, goals } = await readShopFiles(dataPath, humanGoals);
  return shopOf(products, goals, likelyNouns);
}

const shopOf = (products: readonly Product[], goals: readonly Goal[], nouns: Nouns): OpenShop => ({
  products: new Map(products.map((product) => [product.asin, product])),
  index: searchIndex(products),
  nouns,
  goals,
});
