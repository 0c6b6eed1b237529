/**
 * The OpenAPI document as one page for people: loads nothing from outside, has a dark theme, and is complete without a
 * script. The built dashboard's script (dashboard/docs.ts) adds a search, and forms to try operations.
 */
import { createHash } from 'node:crypto';
import { PROBLEMS, type Json, type JsonObject, type OpenApiDocument, type Operation } from './openapi.js';

const STYLE = `
:root { color-scheme: light dark; background: Canvas; color: CanvasText; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
code, pre, .path { font-family: ui-monospace, monospace; font-size: .9em; }
nav { columns: 18rem; font-size: .9em; } nav a { display: block; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .5rem .75rem; }
summary { cursor: pointer; } .method { display: inline-block; min-width: 4em; font-weight: 600; }
.note { font-size: .9em; color: color-mix(in srgb, currentColor 75%, transparent); }
input, select, textarea, button { font: inherit; padding: .2rem .4rem; max-width: 100%; box-sizing: border-box; }
textarea { width: 100%; font-family: ui-monospace, monospace; font-size: .9em; }
.try { border-top: 1px solid var(--line); margin-top: .75rem; } .try label { display: block; margin: .35rem 0; }
.answer { max-height: 40rem; overflow-y: auto; } .answer:empty { display: none; }
[hidden] { display: none; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; vertical-align: top; border-top: 1px solid var(--line); padding: .25rem .5rem .25rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: color-mix(in srgb, currentColor 6%, transparent); padding: .5rem; border-radius: 4px; }
`;

/** For the page's Content-Security-Policy: this style, and scripts and answers of this server. */
export const DOCS_POLICY = `default-src 'none'; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/** No operation promises a 500. */
const STATUSES: readonly (readonly [string, string])[] = [
  ...Object.entries(PROBLEMS),
  ['500', 'Something went wrong. The log has the details under the request id.'],
];

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A schema as links and indented text: names of components lead to them. */
function schemaHtml(schema: Json | undefined): string {
  return schema === undefined
    ? ''
    : `<pre>${escape(JSON.stringify(schema, null, 2)).replace(
        /&quot;#\/components\/schemas\/([\w.-]+)&quot;/g,
        '<a href="#schema-$1">$1</a>',
      )}</pre>`;
}

const exampleHtml = (example: Json | undefined): string =>
  example === undefined ? '' : `<p>Example</p><pre>${escape(JSON.stringify(example, null, 2))}</pre>`;

function contentHtml(content: JsonObject | undefined): string {
  return Object.entries(content ?? {})
    .map(
      ([media, described]) =>
        `<p><code>${escape(media)}</code></p>${schemaHtml((described as JsonObject)['schema'])}${exampleHtml((described as JsonObject)['example'])}`,
    )
    .join('');
}

const text = (value: Json | undefined): string => (typeof value === 'string' ? escape(value) : '');

function parametersHtml(parameters: readonly JsonObject[]): string {
  if (parameters.length === 0) return '';
  const rows = parameters.map(
    (
      parameter,
    ) => `<tr><td><code>${text(parameter['name'])}</code></td><td>${text(parameter['in'])}${parameter['required'] === true ? ', required' : ''}</td>
<td>${text(parameter['description'])} <code>${escape(JSON.stringify(parameter['schema']))}</code></td></tr>`,
  );
  return `<table><tr><th>Parameter</th><th>In</th><th>What it is</th></tr>${rows.join('')}</table>`;
}

/** The text that the search looks in. */
const searchedIn = (path: string, method: string, operation: Operation): string =>
  [
    method,
    path,
    operation.operationId,
    operation.summary,
    operation.description ?? '',
    ...operation.parameters.map(({ name, description }) => `${String(name)} ${String(description ?? '')}`),
  ].join(' ');

function operationHtml(path: string, method: string, operation: Operation): string {
  const done = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1];
  const body = operation.requestBody;
  return `<details class="operation" id="${escape(operation.operationId)}" data-path="${escape(path)}" data-method="${method.toUpperCase()}"><summary><span class="method">${method.toUpperCase()}</span> <span class="path">${escape(path)}</span> ${escape(operation.summary)}</summary>
<div class="said" hidden>${escape(searchedIn(path, method, operation))}</div><p>${escape(operation.description ?? '')}</p>${parametersHtml(operation.parameters)}
${body === undefined ? '' : `<h3>Body</h3>${text(body['description'])}${contentHtml(body['content'] as JsonObject)}`}
<h3>Answer</h3>${contentHtml(done?.['content'] as JsonObject | undefined)}
<p>Problems: ${Object.keys(operation.responses)
    .filter((status) => !status.startsWith('2'))
    .map((status) => `<a href="#status-${status}">${status}</a>`)
    .join(' ')}</p></details>`;
}

/** The whole page. @param script its address; null: the dashboard has not been built, and the page works without it */
export function docsPage(document: OpenApiDocument, script: string | null): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))];
  const section = (tag: string): string =>
    `<section class="tag"><h2 id="tag-${escape(tag)}">${escape(tag)}</h2>${operations
      .filter(({ operation }) => operation.tags.includes(tag))
      .map(({ path, method, operation }) => operationHtml(path, method, operation))
      .join('')}</section>`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Bursar API</title><style>${STYLE}</style>${script === null ? '' : `<script type="module" src="${escape(script)}"></script>`}</head><body><main>
<h1>Bursar API ${escape(document.info.version)}</h1><p>${escape(document.info.description)} The same as data: <a href="/openapi.json">/openapi.json</a>.</p>
<p>Everything below <code>/v1</code> needs <code>Authorization: Bearer &lt;key&gt;</code>. Lists return <code>items</code> and <code>nextCursor</code>; pass that as <code>cursor</code> to get the next page.
Every write takes an <code>Idempotency-Key</code>.</p>
<div id="tools"></div>
<nav aria-label="Sections">${tags.map((tag) => `<a href="#tag-${escape(tag)}">${escape(tag)}</a>`).join('')}<a href="#problems">problems</a><a href="#schemas">schemas</a></nav>
${tags.map(section).join('')}
<h2 id="problems">problems</h2><p>Errors are <code>application/problem+json</code> (RFC 9457).</p>
<table>${STATUSES.map(([status, meaning]) => `<tr id="status-${status}"><td>${status}</td><td>${escape(meaning)}</td></tr>`).join('')}</table>
<h2 id="schemas">schemas</h2>${Object.entries(document.components.schemas)
    .map(
      ([name, schema]) =>
        `<details id="schema-${escape(name)}"><summary class="path">${escape(name)}</summary>${schemaHtml(schema)}</details>`,
    )
    .join('')}
</main></body></html>`;
}
