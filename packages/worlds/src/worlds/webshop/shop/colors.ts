/** Colour names. A shade counts as the first colour of the list that it contains. */

/** Returns the first colour of the list that occurs in a text, or the text itself if none does. */
export const colorOf = (text: string): string =>
  colors.find((color) => text.includes(color)) ?? text;

/** Colour names in WebShop's order. */
const colors =
  `alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy
camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream
crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather indigo
ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor
mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand sapphire
seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet walnut wheat white
wine yellow`.split(/\s+/);
