/** Customers, orders and products of a shop, generated from a seed. */
import type { Random } from '@trinity-rft/core';
import { pick } from '../shared/pick.js';

type OrderStatus = 'pending' | 'delivered' | 'cancelled' | 'return requested';

export interface Order {
  readonly id: string;
  readonly customer: string;
  readonly items: readonly { readonly product: string; readonly price: number }[];
  status: OrderStatus;
  address: string;
  reason?: string;
}

export interface Customer {
  readonly id: string;
  readonly name: string;
  readonly zip: string;
  readonly email: string;
  readonly address: string;
}

/** Part of the shop's data that the tools can change. */
export interface ShopState {
  readonly customers: readonly Customer[];
  readonly orders: readonly Order[];
}

const list = (text: string): readonly string[] => text.split(' ');
const first = list('Ana Bo Cara Dev Eli Fia Gil Hana Ian Joy Kim Leo');
const last = list('Adler Boyd Cruz Diaz Evans Fox Gray Hill Iyer Jones');
const products = list('kettle backpack lamp headset blender tent jacket keyboard bicycle puzzle');
const streets = list('Oak Elm Pine Maple Cedar Birch');

export function drawShop(customerCount: number, random: Random): ShopState {
  const names = random
    .shuffle(first.flatMap((a) => last.map((b) => `${a} ${b}`)))
    .slice(0, customerCount);
  const customers = names.map((name, index): Customer => ({
    id: `${name.toLowerCase().replace(' ', '_')}_${1000 + index}`,
    name,
    zip: String(10_000 + random.integer(90_000)),
    email: `${name.toLowerCase().replace(' ', '.')}@mail.example`,
    address: drawAddress(random),
  }));
  const orders = customers.flatMap((customer, index) =>
    (['pending', 'delivered'] as const).map((status, number): Order => ({
      id: `#W${1_000_000 + index * 10 + number}`,
      customer: customer.id,
      items: random
        .shuffle(products)
        .slice(0, 1 + random.integer(2))
        .map((product) => ({ product, price: 10 + random.integer(190) })),
      status,
      address: customer.address,
    })),
  );
  return { customers, orders };
}

export const drawAddress = (random: Random): string =>
  `${1 + random.integer(99)} ${pick(streets, random)} Street`;
