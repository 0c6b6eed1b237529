/** The generated pages of docs/reference are what the code says of itself. BURSAR_WRITE_DOCS=1 writes them anew. */
import { expect, it } from 'vitest';
import { SETTINGS } from '../../../src/config.js';
import { PRICE_FORMATS, USAGE_FORMATS } from '../../../src/core/format-names.js';
import type { InstalledPart, InstalledProvider } from '../../../src/core/installed.js';
import type { PriceFormat, UsageFormat } from '../../../src/core/ports.js';
import { recordSchema } from '../../../src/formats/bursar.js';
import { inspectParts, lacksFunctions, loadParts, loadProviders } from '../../../src/parts.js';
import { TRACING_SETTINGS } from '../../../src/tracing.js';
import { commandReference } from '../../support/command-reference.js';
import { formatsReference, providersReference, settingsReference } from '../../support/parts-reference.js';
import { expectPage } from '../../support/reference-page.js';

/** A row whose last but one or last cell explains nothing. */
const UNEXPLAINED = /^\| `[^|]*` \| *\|/m;

it('the command line', async () => {
  const text = await commandReference();
  await expectPage('cli.md', text);
  // What every verb has stands once; each verb has a section of its own.
  expect(text.split('print exactly one JSON document').length - 1).toBe(1);
  for (const verb of ['import', 'budgets set', 'policies apply', 'stop-all', 'backtest policy'])
    expect(text).toContain(`\n## bursar ${verb}\n`);
});

it('the settings', async () => {
  const found = await inspectParts({}, { now: () => 0 });
  const clouds = (await loadProviders()).map(
    (part): InstalledProvider => ({ kind: 'provider', part, connection: null, problems: [] }),
  );
  const others = found.filter((one) => one.kind !== 'provider');
  // Of clouds that are not set up, doctor reads the settings without the SDK: they are the same.
  const settingsOf = (all: readonly InstalledPart[]): unknown =>
    all.flatMap(({ kind, part }) => (kind === 'provider' ? [[part.name, part.settings]] : []));
  expect(settingsOf(found)).toEqual(settingsOf(clouds));
  const text = settingsReference(SETTINGS, [...clouds, ...others], TRACING_SETTINGS);
  await expectPage('settings.md', text);
  expect(text).not.toMatch(UNEXPLAINED);
});

it('what holds without a setting, and what is secret', () => {
  const of = (name: string): unknown => SETTINGS.find((one) => one.name === name);
  expect(of('PORT')).toMatchObject({ default: '8080', secret: false });
  expect(of('DATABASE_URL')).toMatchObject({ default: null, secret: true });
  expect(SETTINGS.filter(({ name, secret }) => /(SECRET|API_KEY|TOKEN|PASSWORD)$/.test(name) && !secret)).toEqual([]);
});

const formats = await loadParts<UsageFormat | PriceFormat>('formats', 'format', (part) =>
  lacksFunctions(part, 'recognises', 'read'),
);

it('the formats', async () => {
  const text = formatsReference(formats, recordSchema);
  await expectPage('formats.md', text);
  expect(text).not.toMatch(UNEXPLAINED);
});

it('the formats that the page of imports and the completion of --format offer', () => {
  const names = (of: 'usage' | 'price'): string[] => formats.filter(({ kind }) => kind === of).map(({ name }) => name);
  const where = 'name the format in src/core/format-names.ts';
  expect([...USAGE_FORMATS], where).toEqual(names('usage').sort());
  expect([...PRICE_FORMATS], where).toEqual(names('price').sort());
});

it('the clouds', async () => {
  const providers = await loadProviders();
  const text = providersReference(providers);
  await expectPage('providers.md', text);
  for (const { name } of providers) expect(text).toContain(`\n## ${name}\n`);
});
