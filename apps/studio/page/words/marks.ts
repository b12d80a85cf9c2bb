/** Texts of events in a chart. */
export const words = {
  title: 'Events',
  all: 'Events, as a table',
  kind: 'Event',
  text: 'Details',
  version: (version: string) => `version ${version}`,
  kinds: {
    checkpoint: 'checkpoint',
    weights: 'new weights',
    evaluation: 'evaluation',
    restart: 'restart',
    failure: 'failure',
  },
} as const;
