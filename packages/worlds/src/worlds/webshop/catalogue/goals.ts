/** Goals of the generated shop's customers. Each goal describes one product. */
import { type Random, createRandom } from '@trinity-rft/core';
import { pick } from '../../shared/pick.js';
import { priceLimit } from '../shop/price-limit.js';
import type { Goal, Product } from '../shop/product.js';

export interface GoalSize {
  readonly attributes: number;
  readonly options: number;
}

export function drawGoal(products: readonly Product[], size: GoalSize, seed: number): Goal {
  const random = createRandom(seed);
  const product = pick(products, random);
  const attributes = random.shuffle(product.attributes).slice(0, size.attributes);
  const names = random.shuffle(Object.keys(product.options)).slice(0, size.options);
  const options = names.map((name) => [name, pick(product.options[name] ?? [], random)] as const);
  const priceUpper = priceLimit(product.price, random);
  return {
    asin: product.asin,
    query: product.query,
    name: product.title,
    productCategory: product.productCategory,
    attributes,
    goalOptions: options.map(([, value]) => value),
    priceUpper,
    instruction: say({ product, attributes, options, priceUpper }, random),
  };
}

interface Wish {
  readonly product: Product;
  readonly attributes: readonly string[];
  readonly options: readonly (readonly [name: string, value: string])[];
  readonly priceUpper: number;
}

function say({ product, attributes, options, priceUpper }: Wish, random: Random): string {
  const having = options.map(([name, value]) => `${name} ${value}`).join(' and ');
  const opening = pick(['i am looking for', 'i would like', 'find me', 'i need'], random);
  const choice = having === '' ? '' : `, ${pick(['in', 'with'], random)} ${having}`;
  const thing = `${product.query}: ${itemOf(product)}, ${attributes.join(' and ')}`;
  return `${opening} ${thing}${choice}, and price lower than ${priceUpper.toFixed(2)} dollars`;
}

/**
 * Returns the words that name the item: those between the first attribute and `with` in the title.
 */
function itemOf({ title, attributes }: Product): string {
  const [head = ''] = title.toLowerCase().split(' with ');
  const first = attributes[0] ?? '';
  return head.slice(head.indexOf(first) + first.length + 1);
}
