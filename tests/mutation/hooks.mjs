/**
 * How runner.mjs and known.mjs load TypeScript: Node's own module hooks, which know the files of src/ and tests/ by
 * `.js` names. What a file imports takes over its query, so that everything is loaded anew for another query; where that
 * is the number of a fault of known.json, the fault is put into its file.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';

/** What the tests get instead of a package. */
const STANDINS = { vitest: './suite.mjs', 'fast-check': './fewer-runs.mjs' };
let faults = [];
/** Of what has no fault. */
const transformed = new Map();

export function initialize(given) {
  faults = given?.faults ?? [];
}

export async function resolve(specifier, context, next) {
  const standIn = STANDINS[specifier];
  if (standIn !== undefined && !context.parentURL.endsWith(standIn.slice(1)))
    return { url: new URL(standIn, import.meta.url).href, shortCircuit: true };
  if (!/^(\.|file:).*\.(js|ts)(\?|$)/.test(specifier)) return next(specifier, context);
  const url = new URL(specifier, context.parentURL);
  url.pathname = url.pathname.replace(/\.js$/, '.ts');
  if (!existsSync(new URL(url.pathname, 'file:'))) return next(specifier, context);
  if (url.search === '') url.search = new URL(context.parentURL).search;
  return { url: url.href, format: 'module', shortCircuit: true };
}

export async function load(url, context, next) {
  const { pathname, search } = new URL(url);
  if (!pathname.endsWith('.ts')) return next(url, context);
  const file = fileURLToPath(new URL(pathname, 'file:'));
  const fault = faults[search.slice(1)];
  const source =
    fault !== undefined && path.resolve(fault.file) === file
      ? await javaScript(file, (text) => text.replace(fault.from, () => fault.to))
      : (transformed.get(file) ?? (await javaScript(file)));
  if (fault === undefined) transformed.set(file, source);
  return { format: 'module', source, shortCircuit: true };
}

async function javaScript(file, changed = (text) => text) {
  const { code } = await transform(changed(await readFile(file, 'utf8')), { loader: 'ts', sourcefile: file });
  return code;
}
