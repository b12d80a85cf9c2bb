// TEMP, replaced shortly
if (process.argv[2] === 'pins') console.log('node@24.21.0 pnpm@11.28.11');
