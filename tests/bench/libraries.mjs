/**
 * Own code beside the library that could stand in its place, by hand: `node tests/bench/libraries.mjs --packages DIR
 * [--rows 200000]`, where DIR/node_modules holds csv-parse, papaparse, @streamparser/json, @rjsf/core, @rjsf/utils,
 * @rjsf/validator-ajv8 and exceljs. Needs `npm run build` first. What was decided with these figures:
 * docs/decisions/0021-own-code-and-libraries.md.
 *
 * Read are rows of a bill with FOCUS 1.0's 43 columns, in chunks of 64 KiB, each way five times in turn; told is the
 * median of the processor's microseconds for a row, every field made a text. What a program weighs is told minified
 * and compressed (brotli), as a browser loads it.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';
import { CsvTokenizer } from '../../dist/src/formats/reading/csv.js';
import { readJsonRecords } from '../../dist/src/formats/reading/json.js';

const { values } = parseArgs({
  options: { packages: { type: 'string' }, rows: { type: 'string', default: '200000' } },
});
if (values.packages === undefined) {
  process.stderr.write('usage: node tests/bench/libraries.mjs --packages DIR [--rows N]\n');
  process.exit(2);
}
const folder = path.resolve(values.packages);
const load = createRequire(path.join(folder, 'package.json'));
const rows = Number(values.rows);
const ROUNDS = 5;
const CHUNK = 65_536;
const WIDTH = 43;

const cells = (n) =>
  Array.from({ length: WIDTH }, (_, at) =>
    at % 11 === 0
      ? `"name ${n % 50}, of ""account"" ${at}"`
      : at % 3 === 0
        ? `${n % 977}.${at}125`
        : `value-${(n * 7 + at) % 300}`,
  );
const csv = Buffer.from(
  `${[cells(0).map((_, at) => `Column${at}`), ...Array.from({ length: rows }, (_, n) => cells(n))].map((row) => row.join(',')).join('\n')}\n`,
);
const json = Buffer.from(
  `[${Array.from({ length: rows }, (_, n) => JSON.stringify({ id: `r-${n}`, provider: 'Acme', sku: 'h100', gpus: 8, start: '2026-09-01T00:00:00Z', end: '2026-09-01T01:00:00Z', tags: { team: `t${n % 40}` } })).join(',\n')}]`,
);

function* chunks(bytes) {
  for (let at = 0; at < bytes.length; at += CHUNK) yield bytes.subarray(at, at + CHUNK);
}

/** @param read 'text', or 'repeated' as the formats read what few values have */
function readOwn(bytes, read) {
  const reader = new CsvTokenizer();
  let [count, length] = [0, 0];
  const take = () => {
    while (reader.next()) {
      for (let at = 0; at < reader.width; at++) length += reader[read](at).length;
      count += reader.malformed === null ? 1 : 0;
    }
  };
  for (const chunk of chunks(bytes)) {
    reader.push(chunk);
    take();
  }
  reader.finish();
  take();
  return { count, length };
}

const CSV = {
  bursar: async (bytes) => readOwn(bytes, 'text'),
  'bursar, values that repeat': async (bytes) => readOwn(bytes, 'repeated'),
  async 'csv-parse'(bytes) {
    const { parse } = load('csv-parse');
    let [count, length] = [0, 0];
    for await (const row of Readable.from(chunks(bytes)).pipe(parse({ skip_records_with_error: true }))) {
      for (const text of row) length += text.length;
      count += 1;
    }
    return { count, length };
  },
  async papaparse(bytes) {
    const papa = load('papaparse');
    let [count, length] = [0, 0];
    return new Promise((resolve, reject) => {
      papa.parse(Readable.from(chunks(bytes)), {
        skipEmptyLines: true,
        step({ data }) {
          if (data.length !== WIDTH) return;
          for (const text of data) length += text.length;
          count += 1;
        },
        complete: () => resolve({ count, length }),
        error: reject,
      });
    });
  },
};

const JSON_WAYS = {
  async bursar() {
    let count = 0;
    const input = {
      name: 'x.json',
      head: json.subarray(0, CHUNK),
      async *stream() {
        yield* chunks(json);
      },
    };
    for await (const { records } of readJsonRecords(input, (value) => value)) count += records.length;
    return { count };
  },
  /** It needs the whole text at once, and one wrong record loses all of them. */
  'JSON.parse': () => ({ count: JSON.parse(json.toString('utf8')).length }),
  async '@streamparser/json'() {
    const { JSONParser } = load('@streamparser/json');
    let count = 0;
    const parser = new JSONParser({ paths: ['$.*'], keepStack: false });
    parser.onValue = () => void (count += 1);
    for (const chunk of chunks(json)) parser.write(chunk);
    return { count };
  },
};

const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];

async function compare(ways, bytes) {
  const times = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
  const results = new Map();
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, run] of Object.entries(ways)) {
      const before = process.cpuUsage();
      const found = await run(bytes);
      const { user, system } = process.cpuUsage(before);
      times[name].push((user + system) / rows);
      results.set(name, JSON.stringify(found));
    }
  if (new Set(results.values()).size !== 1) throw new Error(`they read differently: ${JSON.stringify([...results])}`);
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, Number(median(all).toFixed(2))]));
}

/** Bytes of a program for browsers, minified and compressed. */
async function weight(contents, resolveDir) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir, loader: 'tsx' },
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error',
  });
  return brotliCompressSync(outputFiles[0].contents).length;
}

/** How many of the other thousand rows are lost where one field in the middle opens a quote that nothing closes. */
async function lostByQuote() {
  const row = Array.from({ length: WIDTH }, (_, at) => `value-${at}`).join(',');
  const lines = Array.from({ length: 1001 }, (_, n) => (n === 500 ? row.replace('value-7', '"value-7') : row));
  const lost = {};
  for (const [name, run] of Object.entries(CSV)) {
    const { count } = await run(Buffer.from(`${lines.join('\n')}\n`)).catch(() => ({ count: 0 }));
    lost[name] = 1000 - count;
  }
  return lost;
}

const dashboard = path.resolve(import.meta.dirname, '../../src/web/dashboard');
const alone = await weight(`import { Field } from './ui.js'; globalThis.x = [Field];`, dashboard);
const found = {
  rows,
  microsecondsPerRow: { csv: await compare(CSV, csv), json: await compare(JSON_WAYS) },
  rowsLostByOneQuote: await lostByQuote(),
  bytesOfForms: {
    bursar:
      (await weight(
        `import * as form from './form.js'; import { Field } from './ui.js'; globalThis.x = [form, Field];`,
        dashboard,
      )) - alone,
    'react-jsonschema-form with react': await weight(
      `import Form from '@rjsf/core'; import validator from '@rjsf/validator-ajv8'; globalThis.x = [Form, validator];`,
      folder,
    ),
  },
};
process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
