/**
 * Guesses the nouns in titles that people wrote: all words except those in a list of words that are
 * not nouns.
 */

const others = new Set(
  `a an and at by for from in into is it its of on or that the this to up with without your our you all any as be
not no new other more most very extra super great good best nice cute soft hard big small large medium long short high
low wide thin thick light heavy fresh natural organic pure premium portable adjustable removable waterproof washable
reusable durable comfortable casual classic modern vintage women's men's black white red blue green yellow pink purple
gray grey brown orange silver gold one two three four five six seven eight nine ten`.split(/\s+/),
);

export const likelyNouns = (title: string): readonly string[] =>
  (title.toLowerCase().match(/[a-z][a-z'-]+/g) ?? []).filter((word) => !others.has(word));
