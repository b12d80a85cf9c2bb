/** A mailbox that is generated from a seed. Each message contains one fact. */
import { type Random, createRandom, deriveSeed } from '@trinity-rft/core';
import { fullText } from '../shared/full-text.js';
import { pick } from '../shared/pick.js';

interface Email {
  readonly messageId: string;
  /** Date as `YYYY-MM-DD`. */
  readonly date: string;
  readonly from: string;
  readonly subject: string;
  readonly body: string;
  readonly question: string;
  readonly answer: string;
}

export interface Mailbox {
  readonly emails: readonly Email[];
  /**
   * Finds messages that contain all words and were sent on or before `until`, a date as
   * `YYYY-MM-DD`. Returns at most ten messages, newest first.
   */
  search(words: readonly string[], until: string): readonly Email[];
  find(messageId: string): Email | undefined;
  close(): void;
}

export const inbox = 'sam.aldery@oriel.example';
const words = (text: string): readonly string[] => text.split(' ');
const people = words(
  'Amara Bjorn Chloe Dmitri Elena Farid Greta Hiro Ines Jonas Kavya Liam Mira Noor Oskar Priya Quentin Rosa Stefan Tessa',
);
const projects = words(
  'Falcon Harbor Juniper Kestrel Lantern Meridian Nimbus Orchard Pinnacle Quarry Redwood Saffron Tundra Umbra Vertex Willow Xenon Yarrow Zephyr Bramble',
);

interface Topic {
  readonly subject: string;
  readonly tell: (project: string, value: string) => string;
  readonly ask: (project: string, person: string) => string;
  readonly value: (random: Random) => string;
}

const topics: readonly Topic[] = [
  {
    subject: 'review meeting',
    tell: (project, value) =>
      `The review of ${project} is in room ${value}. Please bring the figures of last month.`,
    ask: (project, person) =>
      `In which room is the review of ${project} that ${person} wrote about?`,
    value: (random) => `${pick(words('A B C D'), random)}${100 + random.integer(300)}`,
  },
  {
    subject: 'invoice',
    tell: (project, value) =>
      `Our invoice for ${project} comes to ${value} euros. It is due in thirty days.`,
    ask: (project, person) => `How many euros is the invoice for ${project} that ${person} sent?`,
    value: (random) => String(1000 + random.integer(90_000)),
  },
  {
    subject: 'travel',
    tell: (project, value) =>
      `For the visit to the ${project} site I am on flight ${value}. I will take a taxi from the airport.`,
    ask: (project, person) => `Which flight does ${person} take to the ${project} site?`,
    value: (random) => `${pick(words('LH BA AF KL SK'), random)}${100 + random.integer(900)}`,
  },
  {
    subject: 'deadline',
    tell: (project, value) =>
      `The client moved the deadline of ${project} to ${value}. I told the team already.`,
    ask: (project, person) =>
      `To which day was the deadline of ${project} moved, by the message of ${person}?`,
    value: (random) =>
      `${1 + random.integer(28)} ${pick(words('March April May June July'), random)}`,
  },
  {
    subject: 'server',
    tell: (project, value) =>
      `The test server of ${project} listens on port ${value} from today. The old port is closed.`,
    ask: (project, person) =>
      `On which port does the test server of ${project} listen, as ${person} says?`,
    value: (random) => String(2000 + random.integer(60_000)),
  },
];

/** Creates a mailbox in which each combination of topic, project and person occurs at most once. */
export function createMailbox(count: number, seed: number): Mailbox {
  const random = createRandom(deriveSeed(seed, 'mailbox'));
  const all = topics.flatMap((topic) =>
    projects.flatMap((project) => people.map((person) => ({ topic, project, person }))),
  );
  const emails = random
    .shuffle(all)
    .slice(0, count)
    .map(({ topic, project, person }, index): Email => {
      const value = topic.value(random);
      const day = new Date(Date.UTC(2024, 0, 1 + random.integer(360)));
      return {
        messageId: `${10_000 + index}.${random.integer(1_000_000)}@mail.oriel.example`,
        date: day.toISOString().slice(0, 10),
        from: `${person.toLowerCase()}@oriel.example`,
        subject: `${project}: ${topic.subject}`,
        body: `Hi Sam,\n\n${topic.tell(project, value)}\n\nBest,\n${person}`,
        question: topic.ask(project, person),
        answer: value,
      };
    });
  const byId = new Map(emails.map((email) => [email.messageId, email]));
  const index = fullText(
    emails.map(({ messageId, from, subject, body }) => ({
      id: messageId,
      text: `${from} ${subject} ${body}`,
    })),
  );
  return {
    emails,
    search: (terms, until) =>
      index
        .search(terms, 'all', count)
        .flatMap((id) => byId.get(id) ?? [])
        .filter(({ date }) => date <= until)
        .toSorted((a, b) => b.date.localeCompare(a.date))
        .slice(0, 10),
    find: (messageId) => byId.get(messageId),
    close: () => index.close(),
  };
}
