/** Texts of the configuration page. */
export const words = {
  search: 'Find a setting',
  none: 'No settings were recorded',
  noneText:
    'Runs started with "trinity run" record their settings in settings.json in their folder.',
} as const;
