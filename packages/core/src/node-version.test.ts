import { describe, expect, it } from 'vitest';
import { nodeVersionFault } from './node-version.js';

describe('nodeVersionFault', () => {
  it.each(['22.13.0', '22.20.1', '23.0.0', '24.11.0', '100.0.0-nightly'])('accepts %s', (version) =>
    expect(nodeVersionFault(version)).toBeUndefined(),
  );

  it.each(['18.20.4', '20.20.2', '22.12.9'])('says what is needed instead of %s', (version) =>
    expect(nodeVersionFault(version)).toContain(
      `needs Node 22.13 or newer; this is Node ${version} (`,
    ),
  );
});
