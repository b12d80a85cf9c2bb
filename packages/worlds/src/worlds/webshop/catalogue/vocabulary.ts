/** Departments and brands of the generated shop. */

export interface Department {
  readonly query: string;
  /** Category path, with its levels joined by `›`. */
  readonly path: string;
  readonly items: readonly string[];
  readonly attributes: readonly string[];
  readonly options: Readonly<Record<string, readonly string[]>>;
  readonly price: readonly [least: number, most: number];
}

const list = (text: string): readonly string[] => text.split(', ');
const colors = list(
  'black, navy blue, wine red, olive green, light gray, rose pink, ivory white, rust orange',
);
const wallColors = list('walnut brown, matte black, pure white, brushed gold, slate gray, teal');

export const brands = list(
  'Northfell, Aldery, Tamsin, Brackwater, Oriel, Kestrelle, Ponderosa, Umbra Lane, Fenwick, Sablewood, Marlowe, Juniper Row',
);

export const departments: readonly Department[] = [
  {
    query: "women's running shoes",
    path: 'Clothing, Shoes & Jewelry › Women › Shoes › Athletic',
    items: list('Running Shoes, Trail Sneakers, Walking Shoes, Gym Trainers'),
    attributes: list(
      'slip resistant, arch support, memory foam, lightweight, rubber sole, lace closure, breathable',
    ),
    options: { color: colors, size: list('6, 6.5, 7, 7.5, 8, 8.5, 9, 10') },
    price: [28, 140],
  },
  {
    query: "men's shirts",
    path: 'Clothing, Shoes & Jewelry › Men › Clothing › Shirts',
    items: list('Oxford Shirt, Polo Shirt, Henley Tee, Flannel Shirt'),
    attributes: list(
      'machine washable, long sleeve, short sleeve, regular fit, slim fit, quick drying, button closure',
    ),
    options: { color: colors, size: list('small, medium, large, x-large, xx-large') },
    price: [12, 70],
  },
  {
    query: 'living room lamps',
    path: 'Home & Kitchen › Lighting › Lamps & Shades › Table Lamps',
    items: list('Table Lamp, Floor Lamp, Desk Lamp, Bedside Lamp'),
    attributes: list(
      'easy assemble, dimmable light, energy efficient, linen shade, solid wood, touch control, usb port',
    ),
    options: { color: wallColors, style: list('modern, rustic, industrial, nordic') },
    price: [19, 160],
  },
  {
    query: 'snack bars',
    path: 'Grocery & Gourmet Food › Snacks & Sweets › Bars › Nutrition Bars',
    items: list('Protein Bars, Granola Bars, Fruit Bars, Nut Bars'),
    attributes: list(
      'gluten free, low sugar, non gmo, dairy free, high protein, individually wrapped, keto friendly',
    ),
    options: {
      flavor: list(
        'peanut butter, dark chocolate, blueberry, salted caramel, coconut, apple cinnamon',
      ),
      size: list('6 count, 12 count, 24 count'),
    },
    price: [6, 48],
  },
  {
    query: 'skin care',
    path: 'Beauty & Personal Care › Skin Care › Face › Moisturizers',
    items: list('Face Cream, Night Serum, Day Lotion, Clay Mask'),
    attributes: list(
      'fragrance free, cruelty free, hyaluronic acid, sensitive skin, anti aging, paraben free, oil free',
    ),
    options: {
      scent: list('unscented, green tea, aloe vera, oat milk'),
      size: list('1 ounce, 2 ounce, 4 ounce'),
    },
    price: [8, 65],
  },
  {
    query: 'wireless headphones',
    path: 'Electronics › Headphones, Earbuds & Accessories › Headphones › Over-Ear Headphones',
    items: list('Wireless Headphones, Bluetooth Headset, Sport Earbuds, Studio Headphones'),
    attributes: list(
      'noise cancelling, long lasting, fast charging, water resistant, hands free, high resolution, carrying case',
    ),
    options: { color: colors, model: list('standard, pro, max') },
    price: [22, 260],
  },
  {
    query: 'office chairs',
    path: 'Home & Kitchen › Furniture › Home Office Furniture › Chairs',
    items: list('Office Chair, Desk Chair, Gaming Chair, Drafting Stool'),
    attributes: list(
      'lumbar support, height adjustable, heavy duty, mesh back, memory foam, swivel base, easy clean',
    ),
    options: { color: colors, material: list('faux leather, mesh, velvet, linen') },
    price: [59, 340],
  },
  {
    query: 'pet supplies',
    path: 'Pet Supplies › Dogs › Beds & Furniture › Beds',
    items: list('Dog Bed, Pet Cushion, Cat Sofa, Crate Mat'),
    attributes: list(
      'machine washable, non slip, orthopedic foam, water proof, chew resistant, removable cover',
    ),
    options: { color: colors, size: list('small, medium, large, jumbo') },
    price: [17, 120],
  },
  {
    query: 'camping gear',
    path: 'Sports & Outdoors › Outdoor Recreation › Camping & Hiking › Tents',
    items: list('Camping Tent, Beach Shelter, Dome Tent, Pop Up Tent'),
    attributes: list(
      'water proof, easy carry, uv protection, quick release, wind resistant, double layer, mesh window',
    ),
    options: {
      color: list('forest green, sand, sky blue, burnt orange'),
      capacity: list('2 person, 4 person, 6 person'),
    },
    price: [39, 310],
  },
  {
    query: 'phone cases',
    path: 'Cell Phones & Accessories › Cases, Holsters & Sleeves › Basic Cases',
    items: list('Phone Case, Wallet Case, Bumper Cover, Flip Case'),
    attributes: list(
      'wireless charging, shock proof, screen protector, slim profile, card holder, kickstand, scratch resistant',
    ),
    options: {
      color: colors,
      'fits model': list('model 11, model 12, model 13, model 14, model 15'),
    },
    price: [7, 45],
  },
  {
    query: 'kitchen cookware',
    path: 'Home & Kitchen › Kitchen & Dining › Cookware › Pans',
    items: list('Frying Pan, Sauce Pan, Grill Pan, Wok'),
    attributes: list(
      'non stick, dishwasher safe, stainless steel, cast iron, oven safe, induction ready, stay cool handle',
    ),
    options: { color: wallColors, size: list('8 inch, 10 inch, 12 inch') },
    price: [14, 180],
  },
  {
    query: 'curtains',
    path: 'Home & Kitchen › Home Décor Products › Window Treatments › Curtains',
    items: list('Blackout Curtains, Sheer Panels, Kitchen Valance, Door Curtain'),
    attributes: list(
      'thermal insulated, machine washable, light filtering, noise reducing, rod pocket, wrinkle free',
    ),
    options: { color: colors, size: list('42 x 63, 52 x 84, 52 x 96, 100 x 84') },
    price: [15, 110],
  },
];

const notNouns = new Set(
  'and for in of the to with a an pop up non slip free low high easy long short quick fast anti hands heavy slim regular'.split(
    ' ',
  ),
);

/** Returns the nouns of a title in the generated catalogue. */
export const catalogueNouns = (title: string): readonly string[] => {
  const nouns = new Set(departments.flatMap(({ items }) => wordsOf(items.join(' '))));
  return wordsOf(title).filter((word) => nouns.has(word) && !notNouns.has(word));
};

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[a-z]+/g) ?? [];
