/** Tools of an assistant at home and at work, and user requests for them. */

export type Value = string | number;

export interface Told {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<
    Record<string, { readonly description: string; readonly values: readonly Value[] }>
  >;
  /** Request templates; each contains every parameter as `{parameter}`. */
  readonly requests: readonly string[];
}

const list = (text: string): readonly string[] => text.split(', ');
const upTo = (last: number, step = 1): readonly number[] =>
  Array.from({ length: Math.floor(last / step) }, (_, i) => (i + 1) * step);

const room = {
  description: 'The room.',
  values: list('kitchen, bedroom, bathroom, hall, office, garage, cellar, nursery'),
};
const city = {
  description: 'The name of the city.',
  values: list(
    'Paris, Berlin, Madrid, Oslo, Vienna, Lisbon, Rome, Dublin, Athens, Prague, Cairo, Lima, Tokyo, Delhi, Toronto, Boston',
  ),
};
const person = {
  description: 'The first name of the person.',
  values: list('Anna, Ben, Clara, David, Emma, Felix, Grace, Henry, Ida, Jonas, Kira, Liam'),
};
const day = {
  description: 'The day of the week.',
  values: list('Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday'),
};

export const toolsOfEveryday: readonly Told[] = [
  {
    name: 'set_timer',
    description: 'Starts a timer.',
    parameters: { minutes: { description: 'How long, in minutes.', values: upTo(60) }, room },
    requests: [
      'Set a timer of {minutes} minutes in the {room}.',
      'I need a timer in the {room}, {minutes} minutes please.',
      'Remind me in {minutes} minutes, in the {room}.',
    ],
  },
  {
    name: 'set_heating',
    description: 'Sets the temperature of a room.',
    parameters: { room, degrees: { description: 'In degrees Celsius.', values: upTo(28) } },
    requests: [
      'Make it {degrees} degrees in the {room}.',
      'The {room} should have {degrees} degrees.',
      'Heat the {room} to {degrees} degrees.',
    ],
  },
  {
    name: 'dim_light',
    description: 'Sets how bright the light of a room is.',
    parameters: { room, percent: { description: 'From 5 to 100.', values: upTo(100, 5) } },
    requests: [
      'Dim the light of the {room} to {percent} percent.',
      'Light in the {room}: {percent} percent.',
      'I want {percent} percent of light in the {room}.',
    ],
  },
  {
    name: 'get_weather',
    description: 'The weather forecast.',
    parameters: { city, day },
    requests: [
      'How is the weather in {city} on {day}?',
      'Will it rain on {day} in {city}?',
      'What will {day} be like in {city}?',
    ],
  },
  {
    name: 'book_train',
    description: 'Books train tickets.',
    parameters: { city, day, seats: { description: 'How many tickets.', values: upTo(9) } },
    requests: [
      'Book {seats} seats on the train to {city} on {day}.',
      'We take the train to {city} on {day}, {seats} tickets please.',
      'On {day} I need {seats} train tickets to {city}.',
    ],
  },
  {
    name: 'find_hotel',
    description: 'Finds hotel rooms.',
    parameters: { city, nights: { description: 'How many nights.', values: upTo(14) } },
    requests: [
      'Find a hotel in {city} for {nights} nights.',
      'We stay {nights} nights in {city}. Which hotel?',
      'Where can I sleep in {city} for {nights} nights?',
    ],
  },
  {
    name: 'send_message',
    description: 'Sends a text message.',
    parameters: {
      person,
      text: {
        description: 'What to say.',
        values: list(
          'I am late, call me back, see you soon, dinner is ready, thank you, the train is full, bring some milk, good luck',
        ),
      },
    },
    requests: [
      'Write to {person}: {text}',
      'Send {person} the message: {text}',
      'Tell {person} this: {text}',
    ],
  },
  {
    name: 'plan_meeting',
    description: 'Enters a meeting with a person into the calendar.',
    parameters: { person, day, hour: { description: 'From 1 to 24.', values: upTo(24) } },
    requests: [
      'Meet {person} on {day} at {hour}.',
      'Plan a meeting on {day}, {hour} o clock, with {person}.',
      'I want to see {person} at {hour} on {day}.',
    ],
  },
  {
    name: 'call_person',
    description: 'Makes a telephone call.',
    parameters: { person },
    requests: ['Call {person}.', 'Please phone {person}.', 'I want to talk to {person}.'],
  },
  {
    name: 'add_to_list',
    description: 'Adds something to the shopping list.',
    parameters: {
      item: {
        description: 'What to buy.',
        values: list('milk, bread, butter, rice, apples, onions, coffee, tea, soap, paper'),
      },
      amount: { description: 'How many.', values: upTo(12) },
    },
    requests: [
      'Put {amount} times {item} on the shopping list.',
      'We need {item}, {amount} of it.',
      'Add {amount} {item} to my list.',
    ],
  },
  {
    name: 'play_music',
    description: 'Plays music.',
    parameters: {
      genre: {
        description: 'The kind of music.',
        values: list('jazz, rock, soul, opera, folk, techno, blues, country'),
      },
      room,
    },
    requests: [
      'Play {genre} in the {room}.',
      'I would like to hear some {genre} in the {room}.',
      'Music in the {room}, {genre} please.',
    ],
  },
  {
    name: 'translate_word',
    description: 'Translates a word from English.',
    parameters: {
      word: {
        description: 'The English word.',
        values: list('house, tree, river, bridge, cloud, window, garden, winter, friend, story'),
      },
      language: {
        description: 'The language to translate into.',
        values: list('French, German, Spanish, Italian, Polish, Greek, Dutch, Czech'),
      },
    },
    requests: [
      'What is {word} in {language}?',
      'Translate {word} into {language}.',
      'How do you say {word} in {language}?',
    ],
  },
];
