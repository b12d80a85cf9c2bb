#!/usr/bin/env node
/** Entry point of `npm create @trinity-rft`. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(
    `Trinity-RFT needs Node 22.13 or newer; this is Node ${process.versions.node}. Install a newer one, which the project\n` +
      'needs too. To create it before that:\n\n' +
      // Suggests npx, because `npm create` started by `npx -c` would run this command again without
      // end.
      `  npx --yes -p node@24 -p @trinity-rft/create create ${process.argv
        .slice(2)
        .map((word) => JSON.stringify(word))
        .join(' ')}\n`,
  );
  process.exitCode = 2;
} else {
  const { main } = await import('./main.js');
  process.exitCode = await main(process.argv.slice(2));
}
