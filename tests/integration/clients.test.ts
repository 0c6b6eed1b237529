/**
 * The clients that are made of the OpenAPI document (tests/unit/docs/openapi.test.ts holds them equal to it) work
 * against the API. The types of the TypeScript one hold the dashboard's own types of answers.
 */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Bursar, BursarError, type Answer } from '../../clients/typescript/bursar.js';
import type * as dashboard from '../../src/web/dashboard/answers.js';
import { ROOT } from '../support/source.js';
import { testApi } from '../support/web.js';

/** Whether what the API answers is what the dashboard takes it for: else this does not compile. */
type Is<Answered extends Own, Own> = [Answered, Own];
export type Taken = [
  Is<Answer<'GET /v1/teams'>['items'][number], dashboard.Team>,
  Is<Answer<'GET /v1/overview'>, dashboard.Overview>,
  Is<Answer<'GET /v1/costs'>['totals'], dashboard.Costs['totals']>,
  Is<Answer<'GET /v1/explain'>, dashboard.Explained>,
  Is<Answer<'GET /v1/leases'>['items'][number]['target'], dashboard.Lease['target']>,
  Is<Answer<'GET /v1/savings'>['totals'], dashboard.SavingTotals>,
  Is<Answer<'GET /v1/savings'>['items'][number], dashboard.Saving>,
  Is<Answer<'GET /v1/policies'>['items'][number], dashboard.PolicyDocument>,
  Is<Answer<'GET /v1/imports'>['items'][number], dashboard.StoredImport>,
  Is<Answer<'GET /v1/rejects'>['items'][number], dashboard.Reject>,
];

const python = (program: string, ...argv: readonly string[]): Promise<{ stdout: string }> =>
  promisify(execFile)('python3', ['-c', `from bursar import Bursar, BursarError, BursarProblem\n${program}`, ...argv], {
    cwd: path.join(ROOT, 'clients/python'),
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  });

describe('a client', async () => {
  const api = await testApi();

  it('in TypeScript asks, changes and says what was refused', async () => {
    const bursar = new Bursar({ url: api.url, apiKey: api.admin });
    const team = await bursar.call('PUT /v1/teams/{id}', { path: { id: 'a/b' }, body: { name: 'A' } });
    expect(team).toMatchObject({ id: 'a/b', name: 'A', zone: 'UTC' });
    const { items } = await bursar.call('GET /v1/teams', { query: { limit: 1 } });
    expect(items.map(({ id }) => id)).toEqual(['a/b']);
    const wrong = bursar.call('PUT /v1/teams/{id}', { path: { id: 'x' }, body: { zone: 'Mars' } });
    await expect(wrong).rejects.toMatchObject({ status: 400, problems: [{ path: 'zone' }] });
    const unknown = new Bursar({ url: `${api.url}/`, apiKey: 'no' }).call('GET /v1/teams', {});
    await expect(unknown).rejects.toMatchObject({ name: 'BursarProblem', status: 401 });
    const lines = (await bursar.call('GET /v1/audit/export', {})).trim().split('\n');
    expect(lines.map((line) => typeof JSON.parse(line)).every((type) => type === 'object')).toBe(true);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.join('')).toContain('team.save');
  });

  it('in TypeScript says which address cannot be reached, and why', async () => {
    const away = new Bursar({ url: 'http://127.0.0.1:9', apiKey: 'k' }).call('GET /v1/teams', {});
    await expect(away).rejects.toMatchObject({
      name: 'BursarError',
      message: expect.stringMatching(
        /^http:\/\/127\.0\.0\.1:9 cannot be reached: (connect ECONNREFUSED|bad port)/,
      ) as string,
    });
    await expect(away).rejects.toBeInstanceOf(BursarError);
    const other = createServer((_, response) => void response.setHeader('content-type', 'application/json').end('<p>'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const said = `${url} answered GET /v1/teams with something that is not JSON`;
    await expect(new Bursar({ url, apiKey: 'k' }).call('GET /v1/teams', {})).rejects.toThrow(said);
    await expect(python(`Bursar("${url}", "k").teams_list()`)).rejects.toThrow(`BursarError: ${said}`);
    other.closeAllConnections();
    await new Promise<void>((resolve) => void other.close(() => resolve()));
  });

  it('gives a file as its bytes, and names an address and a key that cannot be one', async () => {
    // Bytes that are no text: as text they would come back as others, without a word.
    const file = Buffer.from([0x25, 0x50, 0x44, 0x46, 0xe2, 0xe3, 0xcf, 0xd3, 0x00, 0xff]);
    const other = createServer((_, response) => void response.setHeader('content-type', 'application/pdf').end(file));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const given = await new Bursar({ url, apiKey: 'k' }).call('GET /v1/reports/{team}/{month}', {
      path: { team: 'red', month: '2026-10' },
      query: { format: 'pdf' },
    });
    expect(Buffer.from(given as Uint8Array)).toEqual(file);
    const { stdout } = await python(`print(Bursar("${url}", "k").reports_get("red", "2026-10", format="pdf").hex())`);
    expect(stdout.trim()).toBe(file.toString('hex'));
    expect(() => new Bursar({ url: '127.0.0.1:3181', apiKey: 'k' })).toThrow(BursarError);
    expect(() => new Bursar({ url, apiKey: 'bursar_“a”' })).toThrow('the API key holds a character');
    await expect(python(`Bursar("127.0.0.1:3181", "k")`)).rejects.toThrow('is no address');
    await expect(python(`Bursar("${url}", "a\\nb")`)).rejects.toThrow('the API key holds a character');
    other.closeAllConnections();
    await new Promise<void>((resolve) => void other.close(() => resolve()));
  });

  it('in Python does the same', async () => {
    const program = `
import json
import sys
bursar = Bursar(sys.argv[1], sys.argv[2])
print(bursar.teams_save("snake/case", {"name": "S"})["name"])
print("team.save" in str([json.loads(line) for line in bursar.operations_export().splitlines()]))
print([team["id"] for team in bursar.teams_list(limit=10)["items"]])
try:
    bursar.teams_save("x", {"zone": "Mars"})
except BursarProblem as problem:
    print(problem.status, problem.problems[0]["path"])
try:
    Bursar(sys.argv[1], "no").teams_list()
except BursarProblem as problem:
    print(problem.status)
try:
    Bursar("http://127.0.0.1:9", "no").teams_list()
except BursarError as error:
    print(error)
`;
    const { stdout } = await python(program, api.url, api.admin);
    const lines = stdout.trim().split('\n');
    expect(lines).toEqual([
      'S',
      'True',
      "['a/b', 'snake/case']",
      '400 zone',
      '401',
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:9 cannot be reached: .*refused/) as string,
    ]);
  });
});
