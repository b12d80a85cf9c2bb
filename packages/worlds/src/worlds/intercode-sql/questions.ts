/** Questions about the bookshop, with the queries that answer them. */
import { type Random, createRandom } from '@trinity-rft/core';
import { pick } from '../shared/pick.js';
import { cities, countries, genres } from './database.js';

export interface Question {
  readonly query: string;
  readonly gold: string;
}

type Template = (random: Random) => Question;

const levels: readonly (readonly Template[])[] = [
  [
    (random) => {
      const [genre, year] = [pick(genres, random), 1985 + random.integer(30)];
      return {
        query: `How many ${genre} books appeared after ${year}?`,
        gold: `SELECT COUNT(*) FROM books WHERE genre = '${genre}' AND year > ${year}`,
      };
    },
    (random) => {
      const price = 10 + random.integer(30);
      return {
        query: `What are the titles of the books that cost more than ${price}?`,
        gold: `SELECT title FROM books WHERE price > ${price}`,
      };
    },
    (random) => {
      const [city, letter] = [pick(cities, random), pick('ABCDEFGHIJKL'.split(''), random)];
      return {
        query: `Which customers in ${city} have a name that begins with ${letter}? Give their names.`,
        gold: `SELECT name FROM customers WHERE city = '${city}' AND name LIKE '${letter}%'`,
      };
    },
  ],
  [
    (random) => {
      const [country, price] = [pick(countries, random), 5 + random.integer(30)];
      return {
        query: `What are the titles of books by authors from ${country} that cost at least ${price}?`,
        gold: `SELECT title FROM books JOIN authors ON authors.id = author_id WHERE country = '${country}' AND price >= ${price}`,
      };
    },
    (random) => {
      const [city, month] = [pick(cities, random), 1 + random.integer(9)];
      return {
        query: `How many copies did customers from ${city} buy from 2024-0${month}-01 on?`,
        gold: `SELECT SUM(quantity) FROM sales JOIN customers ON customers.id = customer_id WHERE city = '${city}' AND day >= '2024-0${month}-01'`,
      };
    },
    (random) => {
      const year = 1985 + random.integer(35);
      return {
        query: `For each genre with books since ${year}: the genre and the number of those books.`,
        gold: `SELECT genre, COUNT(*) FROM books WHERE year >= ${year} GROUP BY genre`,
      };
    },
  ],
  [
    (random) => {
      const [country, quantity] = [pick(countries, random), 2 + random.integer(6)];
      return {
        query: `Which genres sold at least ${quantity} copies in all of books by authors from ${country}? Give the genre and the copies.`,
        gold: `SELECT genre, SUM(quantity) FROM sales JOIN books ON books.id = book_id JOIN authors ON authors.id = author_id WHERE country = '${country}' GROUP BY genre HAVING SUM(quantity) >= ${quantity}`,
      };
    },
    (random) => {
      const year = 1981 + random.integer(42);
      return {
        query: `Which books since ${year} were never sold? Give their titles.`,
        gold: `SELECT title FROM books WHERE year >= ${year} AND id NOT IN (SELECT book_id FROM sales)`,
      };
    },
    (random) => {
      const [genre, city] = [pick(genres, random), pick(cities, random)];
      return {
        query: `How much did customers from ${city} pay in all for ${genre} books?`,
        gold: `SELECT SUM(quantity * price) FROM sales JOIN books ON books.id = book_id JOIN customers ON customers.id = customer_id WHERE city = '${city}' AND genre = '${genre}'`,
      };
    },
  ],
];

export function drawQuestion(level: number, seed: number): Question {
  const random = createRandom(seed);
  return pick(levels[level - 1] ?? [], random)(random);
}
