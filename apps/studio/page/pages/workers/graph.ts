/** Positions of the boxes and arrows of the wait graph. */
import dagre from '@dagrejs/dagre';
import type { Processes } from '../../../src/control/interface/index.js';

interface Box {
  readonly id: string;
  /** Lines of text in the box. */
  readonly lines: readonly string[];
  readonly kind: 'working' | 'waiting' | 'silent' | 'missing' | 'outside';
  /** True for the root cause of a wait chain. */
  readonly isCause: boolean;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Arrow {
  readonly id: string;
  /** `d` attribute of an SVG path. */
  readonly path: string;
  readonly label: string;
  readonly x: number;
  readonly y: number;
}

export interface Picture {
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
  readonly width: number;
  readonly height: number;
}

const idOf = (name: string): string => `process ${name}`;
const idOfMissing = (role: string): string => `missing ${role}`;
/** Id of the box for causes outside of the run; links to them have an empty role. */
const outsideId = idOfMissing('');

type Node = Pick<Box, 'id' | 'lines' | 'kind'>;

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/** Texts of the boxes and arrows in the wait graph. */
export interface Words {
  readonly box: (member: Processes['members'][number]) => readonly string[];
  readonly missing: (role: string) => readonly string[];
  readonly outside: readonly string[];
  readonly arrow: (what: string, forMs: number) => string;
}

export function pictureOf(processes: Processes, words: Words): Picture {
  const nodes = new Map<string, Node>();
  const edges: Edge[] = [];
  const there = processes.members.filter(({ health }) => health !== 'left');
  for (const member of there) {
    const kind = member.health === 'left' ? 'silent' : member.health;
    const id = idOf(member.name);
    nodes.set(id, { id, lines: words.box(member), kind });
  }
  const missing = (role: string): string => {
    const id = idOfMissing(role);
    nodes.set(id, { id, lines: words.missing(role), kind: 'missing' });
    return id;
  };
  const outside = (): string => {
    nodes.set(outsideId, { id: outsideId, lines: words.outside, kind: 'outside' });
    return outsideId;
  };
  for (const { name: from, waits } of there)
    for (const { what, on, forMs } of waits) {
      const targets = there.filter(({ name, role }) => name === on || role === on);
      const found = targets
        .map(({ name }) => name)
        .filter((name) => name !== from)
        .map(idOf);
      const ids = on === undefined ? [outside()] : targets.length > 0 ? found : [missing(on)];
      for (const to of ids) edges.push({ from: idOf(from), to, label: words.arrow(what, forMs) });
    }
  if (there.length === 0) for (const [link] of processes.chains) if (link) missing(link.role);
  const causes = new Set(
    processes.chains
      .flatMap((chain) => chain.at(-1) ?? [])
      .filter(({ state }) => state !== 'works')
      .map(({ name, role }) => (name === undefined ? idOfMissing(role) : idOf(name))),
  );
  return layOut([...nodes.values()], edges, causes);
}

const charWidth = 7.4;
const lineHeight = 18;
const padding = 12;

const widthOf = (lines: readonly string[]): number =>
  Math.max(...lines.map((line) => line.length)) * charWidth + 2 * padding;

/** Arranges the boxes from left to right: first waiting processes, then what they wait for. */
function layOut(
  nodes: readonly Node[],
  edges: readonly Edge[],
  causes: ReadonlySet<string>,
): Picture {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', nodesep: 24, ranksep: 40, marginx: 4, marginy: 4 });
  for (const { id, lines } of nodes)
    graph.setNode(id, {
      width: widthOf(lines),
      height: lines.length * lineHeight + 2 * padding,
    });
  edges.forEach(({ from, to, label }, i) =>
    graph.setEdge(from, to, { width: widthOf([label]), height: lineHeight, labelpos: 'c' }, `${i}`),
  );
  dagre.layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    boxes: nodes.map((node) => {
      const { x, y, width: wide, height: high } = graph.node(node.id);
      return {
        ...node,
        isCause: causes.has(node.id),
        x: x - wide / 2,
        y: y - high / 2,
        width: wide,
        height: high,
      };
    }),
    arrows: edges.map(({ from, to, label }, i) => {
      const { points, x, y } = graph.edge({ v: from, w: to, name: `${i}` });
      return { id: `${i}`, label, x: x ?? 0, y: y ?? 0, path: pathOf(points) };
    }),
  };
}

const pathOf = (points: readonly { readonly x: number; readonly y: number }[]): string =>
  points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join(' ');
