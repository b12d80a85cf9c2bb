/** Words of the page of settings. */
export const words = {
  search: 'Find a setting',
  none: 'No settings were recorded',
  noneText: 'Runs that "trinity run" starts record theirs in config.json of their folder.',
} as const;
