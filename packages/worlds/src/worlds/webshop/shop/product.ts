/** What is sold, and what is wanted. */

export interface Product {
  /** Ten characters, upper case. */
  readonly asin: string;
  readonly title: string;
  /** The search that the product was found by. */
  readonly query: string;
  /** Levels joined by `›`. */
  readonly productCategory: string;
  readonly description: string;
  readonly bulletPoints: readonly string[];
  readonly attributes: readonly string[];
  /** Values of each option, lower case. */
  readonly options: Readonly<Record<string, readonly string[]>>;
  readonly price: number;
  /** Price as it is shown: `$12.5`. */
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
  /** Values, or values by the name of the option. */
  readonly goalOptions: readonly string[] | Readonly<Record<string, string>>;
  readonly priceUpper: number;
  /** Words of the customer. */
  readonly instruction: string;
}
