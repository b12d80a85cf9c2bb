/** The profile as a self-contained page without scripts: bars over time, and a table. */
import type { Span } from './report.js';
import { escaped } from './visible.js';

const colours: Readonly<Record<Span['kind'], string>> = {
  attempt: '#8a8f98',
  model: '#3b6fd4',
  tools: '#c98a1b',
  reward: '#3f9a55',
};

/**
 * Renders the spans as an HTML document.
 * @param title name of the workflow
 */
export function profilePage(spans: readonly Span[], title: string): string {
  const total = Math.max(1e-9, ...spans.map(({ end }) => end));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}: profile</title>
<style>
body { font: 14px system-ui, sans-serif; margin: 2em; max-width: 70em; color: #1c1e21; background: #fff; }
svg { width: 100%; border: 1px solid #ddd; } text { font: 11px system-ui, sans-serif; fill: #444; }
table { border-collapse: collapse; margin-top: 1em; } td, th { padding: .2em .8em .2em 0; text-align: left; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<p>${(total / 1000).toFixed(3)} s: ${(Object.keys(colours) as Span['kind'][])
    .filter((kind) => kind !== 'attempt')
    .map((kind) => share(spans, kind, total))
    .join(', ')}.</p>
${chart(spans, total)}
<table><tr><th>begin (ms)</th><th>took (ms)</th><th>what</th><th>details</th></tr>
${spans.map(row).join('\n')}
</table>
</body>
</html>
`;
}

function share(spans: readonly Span[], kind: Span['kind'], total: number): string {
  const spent = spans
    .filter((span) => span.kind === kind)
    .reduce((sum, { begin, end }) => sum + end - begin, 0);
  return `<b style="color: ${colours[kind]}">${kind}</b> ${((100 * spent) / total).toFixed(1)}%`;
}

const rowHeight = 18;

function chart(spans: readonly Span[], total: number): string {
  const bars = spans.map(({ kind, name, begin, end, details }, i) => {
    const hover = `${name}: ${(end - begin).toFixed(1)} ms ${facts(details)}`;
    const x = (1000 * begin) / total;
    const width = Math.max(1, (1000 * (end - begin)) / total);
    return `<g><title>${escaped(hover)}</title><rect x="${x.toFixed(2)}" y="${i * rowHeight + 2}" width="${width.toFixed(2)}" height="${rowHeight - 4}" fill="${colours[kind]}"/><text x="1008" y="${i * rowHeight + 13}">${escaped(name)}</text></g>`;
  });
  return `<svg viewBox="0 0 1250 ${spans.length * rowHeight}" role="img" aria-label="Spans over time">${bars.join('')}</svg>`;
}

function row({ kind, name, begin, end, details }: Span): string {
  return `<tr><td class="n">${begin.toFixed(1)}</td><td class="n">${(end - begin).toFixed(1)}</td><td style="color: ${colours[kind]}">${escaped(name)}</td><td>${escaped(facts(details))}</td></tr>`;
}

const facts = (details: Span['details']): string =>
  Object.entries(details)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
