/** Settings that stand in files: every one of ours, and what an error about them says. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parseConfig, SETTINGS } from '../../src/config.js';

const folder = mkdtempSync(path.join(tmpdir(), 'bursar-secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = (text: string): string => {
  const name = path.join(folder, String(text.length));
  writeFileSync(name, text);
  return name;
};

it('takes every secret from a file, the parts’ own too', () => {
  const values: Record<string, string> = {
    DATABASE_URL: 'postgres://u:hush@db/bursar',
    DATABASE_READ_URL: 'postgres://u:hush@replica/bursar',
    REDIS_URL: 'redis://:hushed@redis:6379',
    BURSAR_API_KEY: 'bursar_secret',
    BURSAR_OIDC_CLIENT_SECRET: 'a client’s',
    BURSAR_ARCHIVE_SECRET_ACCESS_KEY: 'hushed',
    BURSAR_AUDIT_URL: 'https://collector.example/hush',
    BURSAR_AUDIT_TOKEN: 'hush',
  };
  expect(
    SETTINGS.filter(({ secret }) => secret)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(Object.keys(values).sort());
  for (const [name, value] of Object.entries({ ...values, BURSAR_SLACK_BOT_TOKEN: 'xoxb-1' })) {
    const { environment } = parseConfig({ [`${name}_FILE`]: file(`${value}\n`) });
    expect(environment).toEqual({ [name]: value });
  }
  expect(parseConfig({ DATABASE_URL_FILE: file(values['DATABASE_URL'] ?? '') }).databaseUrl).toBe(
    values['DATABASE_URL'],
  );
});

it('leaves alone every setting that is a file by itself', () => {
  const page = readFileSync(new URL('../../docs/reference/settings.md', import.meta.url), 'utf8');
  const names = [...new Set(page.match(/\bBURSAR_[A-Z_]+_FILE\b/g))];
  expect(names).toContain('BURSAR_KUBERNETES_TOKEN_FILE');
  const given = Object.fromEntries([...names, 'OTHER_FILE'].map((name) => [name, '/not/there']));
  expect(parseConfig(given).environment).toEqual(given);
});

it('names the variable, and neither the file nor what is in it', () => {
  const wrong = { DATABASE_URL_FILE: '/not/there', REDIS_URL_FILE: file('redis://hidden'), REDIS_URL: 'redis://shown' };
  expect(() => parseConfig(wrong)).toThrow(
    'the configuration is wrong: DATABASE_URL_FILE names a file that cannot be read; REDIS_URL_FILE cannot be combined with REDIS_URL',
  );
  expect(() => parseConfig({ DATABASE_URL_FILE: file('\n') })).toThrow(
    'the configuration is wrong: DATABASE_URL_FILE names an empty file',
  );
});
