/**
 * A report as one HTML file: inline style, inline SVG, no script, nothing loaded. Light and dark, on paper too.
 *
 * Whatever comes from outside is escaped. A figure stands in a `data` element whose value is the exact decimal; the
 * text is what the reader sees.
 */
import type { Charts } from './charts.js';
import type { Section, Table } from './cells.js';
import type { Formatter, Shown } from './format.js';
import type { Texts } from './texts.js';

export const escapeHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--back:#fff;--band:#f6f8fa}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b3;--line:#3d444d;--back:#0d1117;--band:#161b22}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,"Noto Sans SC","PingFang SC","Microsoft YaHei",sans-serif}
main{max-width:72rem;margin:0 auto;padding:2rem 1rem 4rem}
h1{font-size:1.8rem;margin:0}h2{font-size:1.3rem;margin:2.5rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.3rem}
.lead{color:var(--soft);margin:.3rem 0}.note{color:var(--soft);max-width:60rem}
.scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse;width:100%;font-size:.9rem}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top;overflow-wrap:break-word;min-width:4.5rem;max-width:18rem}
thead th{background:var(--band);white-space:nowrap}th[scope=row]{font-weight:500}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.u{color:var(--soft)}
figure{margin:1rem 0;background:#fff;border:1px solid var(--line);border-radius:6px;padding:.5rem;max-width:780px}
figure svg{display:block;width:100%;height:auto}
figcaption{color:#57606a;font-size:.85rem;padding:.3rem}
@media print{body{font-size:11px}main{max-width:none;padding:0}h2{break-after:avoid}figure,tr{break-inside:avoid}thead{display:table-header-group}.scroll{overflow:visible}th,td{min-width:0;padding:.15rem .25rem;overflow-wrap:anywhere}thead th,thead .n{white-space:normal}
.wide,.wide caption,.wide tbody,.wide th,.wide td{display:block}.wide thead{display:none}.wide tr{display:grid;grid-template-columns:repeat(5,minmax(0,1fr));gap:.3rem .6rem;padding:.4rem 0;border-bottom:1px solid var(--line)}.wide th,.wide td{border:0;padding:0;text-align:left;max-width:none}.wide [data-of]::before{content:attr(data-of);display:block;white-space:normal;color:var(--soft);font-size:.85em;font-weight:400}
@page{size:A4 portrait;margin:14mm}}
`;

/** On paper a row of more columns is a block of named values: the page is too narrow for a line. */
const MOST_COLUMNS = 8;

export interface Page {
  readonly title: string;
  readonly leads: readonly string[];
  /** The report in three sentences. */
  readonly sentences: readonly string[];
  readonly sections: readonly Section[];
}

export function pageOf(
  { title, leads, sentences, sections }: Page,
  texts: Texts,
  format: Formatter,
  charts: Charts,
): string {
  const body = sections.map((section) => sectionOf(section, format, charts)).join('\n');
  return `<!doctype html>
<html lang="${escapeHtml(format.reader.locale)}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${escapeHtml(`${texts.text('title')}: ${title}`)}</title>
<style>${STYLE}</style></head>
<body><main>
<header><h1>${escapeHtml(texts.text('title'))}</h1>
<p class="lead"><strong>${escapeHtml(title)}</strong></p>
${leads.map((lead) => `<p class="lead">${escapeHtml(lead)}</p>`).join('\n')}
${sentences.map((sentence) => `<p>${escapeHtml(sentence)}</p>`).join('\n')}</header>
${body}
</main></body></html>
`;
}

function sectionOf({ id, title, notes, tables, charts: names }: Section, format: Formatter, charts: Charts): string {
  const figures = names.flatMap((name) => {
    const svg = charts.svg(name);
    return svg === null ? [] : [`<figure>${svg}<figcaption>${escapeHtml(charts.title(name))}</figcaption></figure>`];
  });
  return `<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${escapeHtml(title)}</h2>
${notes.map((note) => `<p class="note">${escapeHtml(note)}</p>`).join('\n')}
${figures.join('\n')}
${tables.map((table) => tableOf(table, format)).join('\n')}
</section>`;
}

function tableOf({ id, title, columns, heads, rows }: Table, format: Formatter): string {
  const cells = rows.map((row) => row.map((cell) => format.cell(cell)));
  const isNumeric = columns.map((_, at) => cells.some((row) => row[at]?.isNumber === true));
  const head = columns
    .map(
      (column, at) => `<th scope="col"${isNumeric[at] === true ? ' class="n"' : ''}>${escapeHtml(column.title)}</th>`,
    )
    .join('');
  const isWide = columns.length > MOST_COLUMNS;
  const named = (at: number): string => (isWide ? ` data-of="${escapeHtml(columns[at]?.title ?? '')}"` : '');
  const body = cells
    .map((row) => `<tr>${row.map((cell, at) => cellOf(cell, at < heads, named(at))).join('')}</tr>`)
    .join('\n');
  return `<div class="scroll" tabindex="0" role="region" aria-label="${escapeHtml(title)}"><table data-table="${id}"${isWide ? ' class="wide"' : ''}><caption>${escapeHtml(title)}</caption><thead><tr>${head}</tr></thead><tbody>
${body}
</tbody></table></div>`;
}

/** @param named an attribute that says what its column is called, or nothing */
function cellOf({ text, exact, unit, isNumber }: Shown, isHead: boolean, named: string): string {
  const [name, scope] = isHead ? ['th', ` scope="row"${named}`] : ['td', named];
  const shown = escapeHtml(text);
  if (!isNumber)
    return `<${name}${scope}>${unit === 'time' || unit === 'day' ? `<time datetime="${escapeHtml(exact ?? '')}">${shown}</time>` : shown}</${name}>`;
  return exact === null
    ? `<${name}${scope} class="n u">${shown}</${name}>`
    : `<${name}${scope} class="n"><data value="${escapeHtml(exact)}" data-unit="${escapeHtml(unit ?? '')}">${shown}</data></${name}>`;
}
