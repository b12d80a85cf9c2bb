/** Products, and goals of customers. */

export interface Product {
  /** Amazon product id: ten characters in upper case. */
  readonly asin: string;
  readonly title: string;
  /** Search query by which WebShop's authors found the product. */
  readonly query: string;
  /** Category levels joined by `›`. */
  readonly productCategory: string;
  readonly description: string;
  readonly bulletPoints: readonly string[];
  readonly attributes: readonly string[];
  /** Values of each option, in lower case. */
  readonly options: Readonly<Record<string, readonly string[]>>;
  readonly price: number;
  /** Price as displayed: `$12.5`. */
  readonly priceTag: string;
  readonly rating: string;
  readonly reviews: readonly Review[];
}

interface Review {
  readonly title: string;
  readonly score: string;
  readonly body: string;
}

export interface Goal {
  readonly asin: string;
  readonly query: string;
  readonly name: string;
  readonly productCategory: string;
  readonly attributes: readonly string[];
  /** Wanted option values; keyed by option name in synthetic goals. */
  readonly goalOptions: readonly string[] | Readonly<Record<string, string>>;
  readonly priceUpper: number;
  /** Text of the goal in the customer's words. */
  readonly instruction: string;
}
