/** A small encyclopedia that is generated from a seed. */
import { type Random, createRandom, deriveSeed } from '@trinity-rft/core';
import { pick } from '../shared/pick.js';

export interface Page {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

interface Question {
  readonly question: string;
  readonly answer: string;
  /** Titles of the pages that lead to the answer, in reading order. */
  readonly hops: readonly string[];
}

export interface Corpus {
  readonly pages: readonly Page[];
  /**
   * Questions, grouped by the number of pages that must be read to answer them: index 0 for one
   * page, index 1 for two.
   */
  readonly questions: readonly (readonly Question[])[];
}

const list = (text: string): readonly string[] => text.split(' ');
const heads = list(
  'Ar Bel Cor Dra El Fen Gal Hol Ist Jor Kal Lum Mor Nar Ost Pel Quen Ras Sol Tar Ul Vor Wes Yar Zin',
);
const middles = list('a e i o u an en or al is');
const tails = list('dor mar ven ton ria lis burg mond vik nes');
const trades = list('painter botanist composer engineer historian astronomer');
const rivers = list('Alma Brisk Calder Dove Esk Ferra Gild Hart');

interface Town {
  readonly name: string;
  readonly river: string;
  readonly founded: number;
  readonly mayor: string;
}
interface Person {
  readonly name: string;
  readonly trade: string;
  readonly born: number;
  readonly town: Town;
}

export function createCorpus(townCount: number, seed: number): Corpus {
  const random = createRandom(deriveSeed(seed, 'corpus'));
  const names = namesOf(townCount * 4, random);
  const towns = names.slice(0, townCount).map((name, index): Town => ({
    name,
    river: pick(rivers, random),
    founded: 900 + random.integer(900),
    mayor: names[townCount + index] ?? '',
  }));
  const people = names.slice(townCount * 2).map((name): Person => ({
    name: `${name} ${pick(heads, random)}sen`,
    trade: pick(trades, random),
    born: 1800 + random.integer(180),
    town: pick(towns, random),
  }));
  const pages = [...towns.map(townPage), ...people.map(personPage)];
  return {
    pages: pages.map((page, index) => ({ ...page, id: `page-${index + 1}` })),
    questions: [
      [...towns.flatMap(aboutTown), ...people.flatMap(aboutPerson)],
      people.flatMap(aboutHome),
    ],
  };
}

/** Draws `count` different names. */
function namesOf(count: number, random: Random): readonly string[] {
  const names = new Set<string>();
  while (names.size < count)
    names.add(`${pick(heads, random)}${pick(middles, random)}${pick(tails, random)}`);
  return [...names];
}

const townPage = ({ name, river, founded, mayor }: Town): Omit<Page, 'id'> => ({
  title: name,
  text: `${name} is a town on the river ${river}. It was founded in ${founded}. Its mayor is ${mayor}.`,
});
const personPage = ({ name, trade, born, town }: Person): Omit<Page, 'id'> => ({
  title: name,
  text: `${name}, born in ${born}, is known as a ${trade}. The ${trade} lives in ${town.name}.`,
});

const aboutTown = ({ name, founded, mayor }: Town): readonly Question[] => [
  {
    question: `In which year was the town of ${name} founded?`,
    answer: String(founded),
    hops: [name],
  },
  { question: `Who is the mayor of ${name}?`, answer: mayor, hops: [name] },
];
const aboutPerson = ({ name, born }: Person): readonly Question[] => [
  { question: `In which year was ${name} born?`, answer: String(born), hops: [name] },
];
const aboutHome = ({ name, town, trade }: Person): readonly Question[] => [
  {
    question: `In which year was the town founded in which the ${trade} ${name} lives?`,
    answer: String(town.founded),
    hops: [name, town.name],
  },
  {
    question: `Who is the mayor of the town in which ${name} lives?`,
    answer: town.mayor,
    hops: [name, town.name],
  },
];
