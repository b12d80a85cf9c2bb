import { describe, expect, it } from 'vitest';
import { fixture, fixtureNames, renderAll, type Rendered } from './rendering.js';

const expected = JSON.parse(fixture('rendered.json')) as Readonly<Record<string, Rendered>>;

describe.each(fixtureNames)('the template of %s', (name) => {
  it('renders every conversation as transformers does', () => {
    expect(renderAll(fixture(`${name}.jinja`))).toEqual(expected[name]);
  });
});
