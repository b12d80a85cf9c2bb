import { expect, it } from 'vitest';
import { numberTree, treeSchema } from './accessibility.js';
import { readCommand } from './commands.js';

it.each([
  ['click(3)', { type: 'click', element: 3 }],
  [' fill( 4 , "a \\"b\\", c)" ) ', { type: 'fill', element: 4, text: 'a "b", c)' }],
  ["fill(4, it's)", { type: 'fill', element: 4, text: "it's" }],
  ['select(5, "Ferne")', { type: 'select', element: 5, text: 'Ferne' }],
  ['press(Enter)', { type: 'press', key: 'Enter' }],
  ['click("ok")', undefined],
  ['fill(4)', undefined],
  ['I click(3)', undefined],
  [`press(${'\t'.repeat(100_000)}`, undefined],
])('reads %.40s', (text, command) => {
  expect(readCommand(text)).toEqual(command);
});

it('numbers what has a meaning, in the order of the page, with values and states', () => {
  const node = (nodeId: string, parentId: string | undefined, role: string, more: object = {}) => ({
    nodeId,
    parentId,
    backendDOMNodeId: 100 + Number(nodeId),
    role: { value: role },
    ...more,
  });
  const { nodes } = treeSchema.parse({
    nodes: [
      node('1', undefined, 'RootWebArea', { childIds: ['2', '3'] }),
      node('2', '1', 'generic', { childIds: ['4', '5'] }),
      node('3', '1', 'StaticText', { name: { value: 'after' } }),
      node('4', '2', 'button', { name: { value: 'ok' }, childIds: ['6'] }),
      node('5', '2', 'textbox', {
        ignored: false,
        value: { value: 'Ada' },
        properties: [{ name: 'focused', value: { value: true } }],
      }),
      node('6', '4', 'StaticText', { name: { value: 'ok' } }),
    ],
  });
  expect(numberTree(nodes)).toEqual({
    text: '[1] button "ok"\n[2] textbox "" value "Ada" focused\n[3] text "after"',
    elements: [104, 105, 103],
  });
});
