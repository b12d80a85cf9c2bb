/**
 * Converts a page's accessibility tree, which describes the page for screen readers, to numbered
 * lines.
 */
import { z } from 'zod';

const value = z.object({ value: z.unknown().optional() });
const nodeSchema = z.object({
  nodeId: z.string(),
  ignored: z.boolean().default(false),
  role: value.optional(),
  name: value.optional(),
  value: value.optional(),
  properties: z.array(z.object({ name: z.string(), value })).default([]),
  childIds: z.array(z.string()).default([]),
  parentId: z.string().optional(),
  backendDOMNodeId: z.number().optional(),
});
type AxNode = z.infer<typeof nodeSchema>;

export const treeSchema = z.object({ nodes: z.array(nodeSchema) });

export interface NumberedTree {
  readonly text: string;
  /** DOM node ids of the numbered elements. Element n is at index n - 1. */
  readonly elements: readonly number[];
}

/** Roles of elements that are not shown, because these elements carry no meaning by themselves. */
const silentRoles: ReadonlySet<unknown> = new Set([
  'none',
  'generic',
  'InlineTextBox',
  'LineBreak',
  'RootWebArea',
  'MenuListPopup',
]);
/** States of an element that are shown if they are true. */
const shownStates = ['checked', 'selected', 'expanded', 'disabled', 'focused'];

/**
 * Converts a page's accessibility tree to numbered lines.
 * @param nodes result of `Accessibility.getFullAXTree`
 */
export function numberTree(nodes: readonly AxNode[]): NumberedTree {
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const lines: string[] = [];
  const elements: number[] = [];
  const visit = (node: AxNode, depth: number, said: string): void => {
    const name = textOf(node.name);
    const isShown = !node.ignored && isMeant(node, name, said);
    if (isShown && node.backendDOMNodeId !== undefined) {
      elements.push(node.backendDOMNodeId);
      lines.push(`${'  '.repeat(depth)}[${elements.length}] ${describeNode(node, name)}`);
    }
    const inner = isShown ? depth + 1 : depth;
    for (const id of node.childIds) {
      const child = byId.get(id);
      if (child !== undefined) visit(child, inner, isShown ? name : said);
    }
  };
  for (const node of nodes) if (node.parentId === undefined) visit(node, 0, '');
  return { text: lines.join('\n'), elements };
}

const textOf = (held: AxNode['name']): string =>
  typeof held?.value === 'string' ? held.value.trim() : '';

/**
 * Returns true if a node is shown. A text node is hidden if it only repeats the name of the element
 * that contains it, such as a button's label.
 */
function isMeant({ role }: AxNode, name: string, said: string): boolean {
  if (role?.value === 'StaticText') return name !== '' && name !== said;
  return !silentRoles.has(role?.value);
}

function describeNode(node: AxNode, name: string): string {
  const role = node.role?.value === 'StaticText' ? 'text' : String(node.role?.value);
  const held = node.value?.value;
  const states = node.properties
    .filter((state) => shownStates.includes(state.name) && isTrue(state.value.value))
    .map((state) => state.name);
  const content = held === undefined || held === '' ? [] : [`value ${JSON.stringify(held)}`];
  return [role, JSON.stringify(name), ...content, ...states].join(' ');
}

const isTrue = (state: unknown): boolean => state === true || state === 'true';
