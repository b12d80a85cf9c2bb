/** Kinds of rooms, their furniture and objects, and the actions that they allow. */

export interface Room {
  /** Kinds of receptacles, with the maximum number of each. */
  readonly receptacles: Readonly<Record<string, number>>;
  /** Kinds of objects that can be in the room. */
  readonly objects: readonly string[];
  readonly lamp?: string;
}

const words = (text: string): readonly string[] => text.split(' ');

export const rooms: Readonly<Record<string, Room>> = {
  kitchen: {
    receptacles: {
      countertop: 3,
      cabinet: 6,
      drawer: 4,
      fridge: 1,
      microwave: 1,
      sinkbasin: 1,
      stoveburner: 4,
      diningtable: 1,
      shelf: 3,
      garbagecan: 1,
      coffeemachine: 1,
      toaster: 1,
    },
    objects: words(
      'apple bread egg lettuce potato tomato mug cup bowl plate pan pot knife fork spoon spatula butterknife dishsponge ladle kettle saltshaker peppershaker soapbottle winebottle vase',
    ),
  },
  bedroom: {
    receptacles: {
      bed: 1,
      desk: 2,
      drawer: 6,
      dresser: 1,
      shelf: 4,
      sidetable: 2,
      safe: 1,
      garbagecan: 1,
      laundryhamper: 1,
      armchair: 1,
    },
    objects: words(
      'alarmclock book cd cellphone creditcard keychain laptop mug bowl pen pencil pillow cloth teddybear tissuebox vase',
    ),
    lamp: 'desklamp',
  },
  livingroom: {
    receptacles: {
      sofa: 2,
      armchair: 2,
      coffeetable: 1,
      sidetable: 3,
      tvstand: 1,
      shelf: 3,
      drawer: 4,
      cabinet: 3,
      dresser: 1,
      safe: 1,
      ottoman: 1,
      garbagecan: 1,
    },
    objects: words(
      'book box cellphone creditcard keychain laptop newspaper pillow plate remotecontrol statue tissuebox vase watch bowl',
    ),
    lamp: 'floorlamp',
  },
  bathroom: {
    receptacles: {
      countertop: 1,
      cabinet: 4,
      drawer: 3,
      sinkbasin: 2,
      toilet: 1,
      bathtubbasin: 1,
      shelf: 2,
      garbagecan: 1,
      handtowelholder: 2,
      towelholder: 1,
      toiletpaperhanger: 1,
    },
    objects: words(
      'candle cloth handtowel plunger soapbar soapbottle spraybottle tissuebox toiletpaper towel dishsponge',
    ),
  },
};

/** Kinds of receptacles that can be opened. They start closed. */
export const openable = new Set(words('cabinet drawer fridge microwave safe'));

/**
 * For each treatment, the appliance that performs it and the kinds of objects that can be treated.
 */
export const treatments = {
  heat: {
    appliance: 'microwave',
    adjective: 'hot',
    objects: words('apple bread egg potato tomato mug cup plate'),
  },
  cool: {
    appliance: 'fridge',
    adjective: 'cool',
    objects: words('apple bread egg lettuce potato tomato mug cup pan pot plate bowl winebottle'),
  },
  clean: {
    appliance: 'sinkbasin',
    adjective: 'clean',
    objects: words(
      'apple egg lettuce potato tomato mug cup bowl plate pan pot knife fork spoon spatula butterknife dishsponge ladle kettle cloth soapbar',
    ),
  },
} as const;
export type Treatment = keyof typeof treatments;
