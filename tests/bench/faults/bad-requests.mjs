/**
 * Requests that are wrong in one place or several, made of the API's own OpenAPI document: every route with its
 * parameters and its example body, changed by bad-values.mjs; files of every kind that is taken, damaged; and bytes
 * that are no HTTP.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { Chance, encoded, written } from './bad-values.mjs';
import { seeded } from '../server.mjs';

const ROOT = path.join(import.meta.dirname, '../../..');
const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'];
/** They would end what the run needs: its key, and the process's health. */
const LEFT_OUT = /^\/(?:healthz|readyz|metrics|v1\/backtests\/\{id\}\/events)$/;
const MOST_FILE_BYTES = 6000;

const read = (name) => readFileSync(path.join(ROOT, name));
/** The first lines of a file, whole. */
const firstLines = (name) => {
  const text = read(name).subarray(0, MOST_FILE_BYTES).toString('utf8');
  return Buffer.from(text.slice(0, text.lastIndexOf('\n') + 1));
};

const FOCUS = firstLines('examples/data/focus-sample/focus_sample_2024-09-01_18.csv');
const FILES = {
  imports: [
    ['focus.csv', FOCUS],
    ['oci.csv', firstLines('examples/data/bills-native/oci_cost_report_first60pct.csv')],
    ['focus.parquet', parquetOf(FOCUS)],
    ['usage.json', Buffer.from(JSON.stringify({ records: [recordOf(1), recordOf(2)] }))],
    ['usage.jsonl', Buffer.from(`${JSON.stringify(recordOf(3))}\n${JSON.stringify(recordOf(4))}\n`)],
  ],
  prices: [
    ['aws.csv', firstLines('examples/data/aws-ondemand-price-history/aws_gpu_ondemand_us-east-1_2022-06_2026-07.csv')],
    ['alibaba.csv', firstLines('examples/data/alibaba-gpu-prices/alibaba_gpu_prices_6regions.csv')],
    ['reserved.csv', firstLines('examples/data/aws-reserved-price-sample/gpu_reserved_us_regions_2017-11-12.csv')],
    ['gcp.csv', firstLines('examples/data/gcp-gpu-prices/gcp_gpu_instances_2026-07-30.csv')],
    [
      'own.csv',
      Buffer.from(
        'provider,sku,region,term,gpus,price,currency,per,effectiveFrom\nAcme,h100,hall-1,on-demand,1,2.49,USD,gpu-hour,2026-01-01\n',
      ),
    ],
  ],
};
const FORMATS = [
  'auto',
  'focus',
  'aws-cur',
  'azure-ea',
  'oci',
  'cloudevents',
  'bursar',
  'gcp-billing',
  'alibaba-bill',
  'tencent-bill',
  'bursar-prices',
  'nothing',
];

function recordOf(n) {
  return {
    id: `bad-${n}`,
    provider: 'Acme',
    sku: 'h100',
    region: 'hall-1',
    term: 'on-demand',
    gpus: 1,
    tags: { team: 'research' },
    start: '2026-10-01T00:00:00Z',
    end: '2026-10-01T01:00:00Z',
  };
}

/** Rows of a CSV without quotes in them as Parquet, every column a text. */
function parquetOf(csv) {
  const [names, ...rows] = csv
    .toString('utf8')
    .trim()
    .split('\n')
    .slice(0, 8)
    .map((line) => line.split(','));
  const columnData = names.map((name, at) => ({ name, data: rows.map((row) => row[at] ?? ''), type: 'STRING' }));
  return Buffer.from(parquetWriteBuffer({ columnData }));
}

/** What there is to ask, of docs/reference/openapi.json. */
export function operations() {
  const { paths } = JSON.parse(read('docs/reference/openapi.json').toString('utf8'));
  return Object.entries(paths).flatMap(([route, methods]) =>
    LEFT_OUT.test(route)
      ? []
      : Object.entries(methods)
          .filter(([method]) => METHODS.includes(method))
          .map(([method, operation]) => ({
            route,
            method: method.toUpperCase(),
            query: (operation.parameters ?? []).filter((one) => one.in === 'query').map((one) => one.name),
            body: exampleOf(operation.requestBody),
            isFile: operation.requestBody?.content?.['*/*'] !== undefined,
          })),
  );
}

function exampleOf(requestBody) {
  const content = Object.values(requestBody?.content ?? {})[0];
  return content?.example ?? null;
}

const KINDS = new WeakMap();
/** Files are one route in fifty and half of what can go wrong. */
function kindsOf(all) {
  const known = KINDS.get(all) ?? {
    all,
    files: all.filter((one) => one.isFile),
    bodies: all.filter((one) => one.body),
  };
  KINDS.set(all, known);
  return known;
}

/** The request of a seed and a number: always the same. `bytes` null: none; `raw`: no HTTP at all, but these bytes. */
export function badRequest(all, seed, n) {
  const chance = new Chance(seeded((seed * 1_000_003 + n * 7919) | 0));
  if (chance.is(0.02)) return { what: 'raw bytes', raw: rawBytes(chance) };
  const operation = chance.pick(kindsOf(all)[chance.is(0.12) ? 'files' : chance.is(0.6) ? 'bodies' : 'all']);
  const isFile = operation.isFile && chance.is(0.8);
  const { what, bytes, headers, filename, format } = isFile ? file(chance, operation) : body(chance, operation);
  const method = chance.is(0.03) ? chance.pick(METHODS).toUpperCase() : operation.method;
  const target = `${pathOf(chance, operation.route)}${queryOf(chance, operation, { filename, format })}`;
  return { what, method, target, headers: { ...headers, ...oddHeaders(chance) }, bytes, route: operation.route };
}

function pathOf(chance, route) {
  const filled = route.replace(/\{[^}]+\}/g, () =>
    chance.is(0.4)
      ? chance.pick(['research', 'lab', 'USD', 'nights', 'usr-1'])
      : encoded(chance.text(), chance).slice(0, 9000),
  );
  return chance.is(0.02)
    ? `${filled}${chance.pick(['/', '//', '/..', '/%2e%2e/v1/keys', ';a=1', '/%00', '.json'])}`
    : filled;
}

function queryOf(chance, { query, isFile }, { filename, format }) {
  const given = query.flatMap((name) => {
    if (isFile && name === 'filename' && chance.is(0.9)) return [`filename=${encoded(filename ?? 'a.csv', chance)}`];
    if (isFile && name === 'format' && chance.is(0.7)) return format === undefined ? [] : [`format=${format}`];
    if (isFile && name === 'dryRun') return chance.is(0.1) ? ['dryRun=true'] : [];
    if (chance.is(0.65)) return [];
    const times = chance.is(0.1) ? 3 : 1;
    return Array.from({ length: times }, () => `${name}=${encoded(chance.text(), chance).slice(0, 5000)}`);
  });
  if (chance.is(0.05))
    given.push(`${encoded(chance.text(), chance).slice(0, 200)}=${encoded(chance.text(), chance).slice(0, 200)}`);
  return given.length === 0 ? '' : `?${given.join('&')}`;
}

/** A body of JSON: the example changed, another value, or its bytes damaged. */
function body(chance, operation) {
  if (operation.body === null && chance.is(0.7)) return { what: 'no body', bytes: null, headers: {} };
  let value = operation.body ?? {};
  const times = chance.pick([0, 1, 1, 1, 2, 4]);
  for (let n = 0; n < times; n += 1) value = chance.mutated(value);
  if (chance.is(0.03)) value = chance.value();
  let bytes = Buffer.from(written(value));
  const headers = { 'content-type': chance.is(0.95) ? 'application/json' : chance.media() };
  if (chance.is(0.1)) {
    bytes = chance.damaged(bytes);
    return { what: 'damaged JSON', bytes, headers };
  }
  if (chance.is(0.05)) {
    const packed = chance.packed(bytes);
    return { what: 'packed JSON', bytes: packed.bytes, headers: { ...headers, 'content-encoding': packed.encoding } };
  }
  return { what: 'changed JSON', bytes, headers };
}

/** A file that is taken, with cells changed, bytes damaged, packed, or as a form would send it. */
function file(chance, { route }) {
  const [name, whole] = chance.pick(route.startsWith('/v1/prices') ? FILES.prices : FILES.imports);
  const filename = chance.is(0.85)
    ? name
    : chance.pick(['a.parquet', 'a.csv.gz', 'a.xlsx', 'x', '\ud83d', 'a\tb.csv', '..', 'a.zip']);
  const format = chance.is(0.7) ? undefined : chance.pick(FORMATS);
  const headers = chance.is(0.9) ? {} : { 'content-type': chance.media() };
  const kind = name.split('.').at(-1);
  let [what, bytes] = [`file ${kind}`, whole];
  if (kind === 'csv' && chance.is(0.7)) bytes = changedCells(chance, whole);
  else if (kind !== 'parquet' && chance.is(0.5))
    bytes = Buffer.from(written(chance.mutated({ records: [recordOf(1), recordOf(2)] })));
  if (chance.is(kind === 'parquet' ? 0.95 : 0.3)) [what, bytes] = [`damaged ${kind}`, chance.damaged(bytes)];
  if (chance.is(0.08)) {
    const packed = chance.packed(bytes);
    // A file is gzip by its own bytes, whatever the header says.
    const named = chance.is(0.5) ? { 'content-encoding': packed.encoding } : {};
    return { what: `packed ${kind}`, bytes: packed.bytes, headers: { ...headers, ...named }, filename, format };
  }
  if (chance.is(0.08)) {
    const head = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\n';
    const form = Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--x--\r\n')]);
    const type = { 'content-type': 'multipart/form-data; boundary=x' };
    return { what: 'a form', bytes: chance.is(0.5) ? form : chance.damaged(form), headers: type, filename, format };
  }
  return { what, bytes, headers, filename, format };
}

function changedCells(chance, csv) {
  const lines = csv.toString('utf8').split('\n');
  for (let n = 0; n < 1 + chance.below(4); n += 1) {
    const at = chance.below(lines.length);
    const cells = lines[at].split(',');
    const value = chance.is(0.5) ? chance.text() : chance.number().replaceAll('\uE000', '');
    cells[chance.below(cells.length)] = chance.pick([value, `"${value}"`, `"${value}`, `${value}"`, '']);
    lines[at] = chance.is(0.05) ? cells.slice(0, 2).join(',') : cells.join(chance.is(0.03) ? ';' : ',');
  }
  return Buffer.from(lines.join('\n'));
}

/** Headers that nobody should send; Node's client refuses control characters, rawBytes sends them. */
function oddHeaders(chance) {
  if (chance.is(0.8)) return {};
  const latin = Buffer.from(chance.text().replaceAll(/[^\x20-\x7e\x80-\xff]/g, '?'), 'latin1').toString('latin1');
  const [name, value] = chance.pick([
    ['idempotency-key', latin],
    ['idempotency-key', 'k'.repeat(chance.pick([1, 200, 201, 9000]))],
    [
      'authorization',
      chance.pick(['', 'Bearer', 'Bearer ', 'Basic !!!', `Bearer ${'a'.repeat(5000)}`, `Bearer ${latin}`]),
    ],
    ['cookie', `session=${latin}; ${latin}`],
    ['accept', chance.pick(['', '*/*;q=', 'text/html', 'image/*', latin])],
    ['accept-language', latin],
    ['x-request-id', latin],
    ['x-forwarded-for', latin],
    ['origin', latin],
    ['traceparent', latin],
    ['if-none-match', latin],
    ['range', 'bytes=0-,5-9999999999999999999'],
    ['last-event-id', latin],
    ['expect', chance.pick(['100-continue', 'the-unexpected'])],
    ['content-type', chance.media()],
  ]);
  return { [name]: value.trim() };
}

/** What is no request, or hardly one. */
function rawBytes(chance) {
  const line = chance.pick([
    'POST /v1/usage HTTP/1.1',
    'GET /v1/teams HTTP/1.1',
    'PUT /v1/rules HTTP/1.1',
    'GET / HTTP/9.9',
    'PRI * HTTP/2.0',
    'x',
  ]);
  const head = chance.pick([
    'host: a\r\ncontent-length: 5\r\n\r\n{"a":',
    'host: a\r\ncontent-length: -1\r\n\r\n',
    'host: a\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd',
    'host: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    'host: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n',
    'host: a\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n',
    `host: a\r\nx: ${'a'.repeat(70_000)}\r\n\r\n`,
    `${'a: b\r\n'.repeat(3000)}\r\n`,
    'host: a\r\nx: a\u0000b\r\n\r\n',
    'host: a\r\n x: folded\r\n\r\n',
    '\r\n\r\n\r\n',
    'host\r\n\r\n',
  ]);
  const bytes = Buffer.from(`${line}\r\n${head}`, 'latin1');
  return chance.is(0.5) ? bytes : chance.damaged(bytes);
}
