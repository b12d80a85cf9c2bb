#!/usr/bin/env node
/** Entry point of `npm create @trinity-rft`. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(
    `Trinity-RFT needs Node 22.13 or newer; this is Node ${process.versions.node}. Install a newer one, or run\n` +
      '  npx -p node@24 -p npm -c "npm create @trinity-rft"\n',
  );
  process.exitCode = 2;
} else {
  const { main } = await import('./main.js');
  process.exitCode = await main(process.argv.slice(2));
}
