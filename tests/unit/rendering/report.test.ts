/**
 * A report on paper, on the screen, in a table and as a model: the same figures, no name that breaks out, and both
 * languages.
 */
import { describe, expect, it } from 'vitest';
import { compareDecimal } from '../../../src/core/decimal.js';
import { readerOf, type Language, type ReportFormat } from '../../../src/core/report/reader.js';
import type { ReportFacts } from '../../../src/core/report/facts.js';
import type { Report } from '../../../src/core/report/report.js';
import type { Cell } from '../../../src/rendering/report/cells.js';
import { documentOf } from '../../../src/rendering/report/document.js';
import { Formatter } from '../../../src/rendering/report/format.js';
import { TEXT_KEYS, Texts } from '../../../src/rendering/report/texts.js';
import { write } from '../../../src/rendering/report/written.js';
import { mainPicture, renderers } from '../../../src/rendering/reports.js';
import { readCsv, readPage, rounded } from '../../support/report-formats.js';
import { overlapping, Pdf, type PdfElement } from '../../support/pdf.js';
import { decimal, factsOf, reportOf } from '../../support/report.js';

const bytesOf = async (report: Report, format: ReportFormat, language: Language = 'en'): Promise<Uint8Array> => {
  const renderer = renderers.get(format);
  if (renderer === undefined) throw new Error(`there is no ${format}`);
  return renderer.render(report, readerOf(language));
};
const textOf = async (...of: Parameters<typeof bytesOf>): Promise<string> =>
  new TextDecoder().decode(await bytesOf(...of));

const amountOf = (cell: Cell): string | null => {
  switch (cell.kind) {
    case 'money':
    case 'hours':
      return cell.amount;
    case 'ratio':
    case 'count':
      return cell.value === null ? null : String(cell.value);
    default:
      return null;
  }
};
/** Every figure of a report, in order, as the document has it. */
const figuresOf = (report: Report, language: Language): string[] =>
  documentOf(report, new Texts(language))
    .flatMap(({ tables }) => tables)
    .flatMap(({ rows }) => rows)
    .flatMap((row) => row.flatMap((cell) => amountOf(cell) ?? []));

const REPORT = reportOf();
/** Nothing recorded, nothing planned, nothing saved. */
const EMPTY = reportOf({
  teams: ['red'],
  spend: { cells: [], unconverted: new Map() },
  before: { cells: [], unconverted: new Map() },
  days: [],
  budgets: [],
  savings: [],
  refusals: [],
  chances: [],
  demand: [],
  samples: [],
  variance: { known: null, reason: 'no-bill' },
});

describe('the figures', () => {
  it.each(['en', 'zh'] as const)('are the same in all four formats (%s)', async (language) => {
    const figures = figuresOf(REPORT, language);
    expect(figures.length).toBeGreaterThan(200);
    const page = readPage(await textOf(REPORT, 'html', language));
    expect(page.map(({ value }) => value)).toEqual(figures);
    for (const { value, unit, text } of page)
      expect({ value, text: rounded(value, unit, text) }).toEqual({ value, text: true });
    const csv = readCsv(await textOf(REPORT, 'csv', language)).filter(
      ({ unit, value }) => value !== '' && !['text', 'time', 'day', 'unit', ''].includes(unit ?? ''),
    );
    expect(csv.map(({ value }) => value)).toEqual(figures);
    const pdf = new Pdf(await bytesOf(REPORT, 'pdf', language));
    const written = new Map<string, number>();
    for (const { text } of pdf.texts) written.set(text, (written.get(text) ?? 0) + 1);
    const shown = new Map<string, number>();
    for (const { text } of page) shown.set(text, (shown.get(text) ?? 0) + 1);
    for (const [text, times] of shown)
      expect({ text, times: Math.min(written.get(text) ?? 0, times) }).toEqual({ text, times });
    expect(JSON.parse(await textOf(REPORT, 'json', language))).toEqual(REPORT);
  });

  it('name the period of a budget as its own zone does', async () => {
    const own = { periodStart: '2026-09-30T18:15:00.000Z', period: '2026-10' };
    const report = { ...REPORT, budgets: REPORT.budgets.map((one) => ({ ...one, ...own })) };
    const csv = readCsv(await textOf(report, 'csv'));
    const periods = csv.filter(({ table, measure }) => table === 'budgets' && measure === 'period');
    expect(new Set(periods.map(({ value }) => value))).toEqual(new Set(['2026-10']));
    expect(await textOf(report, 'html')).not.toContain('Sep 30');
  });

  it('are the exact decimals of the model', async () => {
    const csv = readCsv(await textOf(REPORT, 'csv'));
    const valueOf = (table: string, item: string, measure: string): string | undefined =>
      csv.find((row) => row.table === table && row.item === item && row.measure === measure)?.value;
    expect(valueOf('summary', 'Spend', 'value')).toBe('1683.3650078877');
    expect(valueOf('by-gpu', 'A100-40GB', 'amount')).toBe('99.99');
    expect(valueOf('bridge', 'Credits', 'amount')).toBe('-20.25');
    expect(valueOf('budgets', 'red-monthly / red', 'planned')).toBe('1500.000000000');
    expect(valueOf('budgets-lacking', 'red-monthly / red / USD', 'lacking')).toBe('77.10');
    expect(csv.find(({ item, measure }) => item === 'red-monthly / red / CNY' && measure === 'lacking')).toMatchObject({
      value: '',
      unit: 'CNY',
      note: 'not known',
    });
    expect(csv.filter(({ item }) => item !== item?.trim())).toEqual([]);
    expect(valueOf('summary', 'Forecast of the next month', 'low')).toBe(REPORT.forecast.known?.low);
    expect(valueOf('summary', 'Spend', 'low')).toBeUndefined();
    expect(compareDecimal(decimal(REPORT.spend.total ?? ''), decimal('1683.3650078877'))).toBe(0);
  });
});

describe('an amount', () => {
  it('has no sign where it rounds to nothing', () => {
    const format = new Formatter(readerOf('en'), 'UTC', new Texts('en'));
    expect(['-0.00001', '-0.0001', '-1.5'].map((amount) => format.money(amount, 'USD'))).toEqual([
      '$0.00',
      '-$0.0001',
      '-$1.50',
    ]);
  });
});

describe('the page', () => {
  it.each([
    ['en', REPORT],
    ['zh', REPORT],
    ['en', EMPTY],
    ['zh', EMPTY],
  ] as const)('is well-formed, loads nothing and shows no slip (%s)', async (language, report) => {
    const html = await textOf(report, 'html', language);
    const open: string[] = [];
    for (const [, close, name = '', closed] of html.matchAll(/<(\/?)([a-z][\w:]*)(?:"[^"]*"|[^"<>])*?(\/?)>/gi)) {
      if (close === '/') expect(open.pop()).toBe(name);
      else if (closed !== '/' && !['meta', '!doctype'].includes(name.toLowerCase())) open.push(name);
    }
    expect(open).toEqual([]);
    expect(html).not.toMatch(/undefined|NaN|\[object|null</);
    expect(html).not.toMatch(
      /<script|<link|<img|<iframe|javascript:|https?:\/\/(?!www\.w3\.org)[^<"]*\.(?:js|css|woff)/i,
    );
    expect(html).not.toMatch(/ on\w+=/);
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect([...html.matchAll(/<h1/g)]).toHaveLength(1);
    expect([...html.matchAll(/<table/g)].length).toBe([...html.matchAll(/<caption>/g)].length);
  });

  it('escapes names, and shows them', async () => {
    const html = await textOf(REPORT, 'html');
    expect(html).toContain('Red &lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; 红队');
    expect(html).toContain('Stop &lt;b&gt;i-7&lt;/b&gt;');
  });

  it('is in the language and the form of its reader', async () => {
    const [english, chinese] = [await textOf(REPORT, 'html', 'en'), await textOf(REPORT, 'html', 'zh')];
    expect(english).toContain('<html lang="en">');
    expect(english).toContain('>$1,683.37</data>');
    expect(english).toContain('Oct 20, 2026');
    expect(chinese).toContain('<html lang="zh-CN">');
    expect(chinese).toContain('>US$1,683.37</data>');
    expect(chinese).toContain('2026年10月20日');
    for (const words of ['节省报告', '支出与预算', '变化及原因', '下一步建议', '按需', '已测量'])
      expect(chinese).toContain(words);
    expect(chinese).not.toContain('Spend against budget');
  });

  it('has no figure in its summary that needs another section to be understood', () => {
    for (const report of [REPORT, EMPTY]) {
      const [summary] = documentOf(report, new Texts('en'));
      const names = summary?.tables[0]?.rows.map(([head]) => (head?.kind === 'text' ? head.text : '')) ?? [];
      expect(names.length).toBeGreaterThan(8);
      expect(names.join('; ')).not.toMatch(/hindsight|clairvoyant|little-used/i);
    }
    const notes = documentOf(REPORT, new Texts('en')).find(({ id }) => id === 'utilisation')?.notes;
    expect(notes?.[0]).toContain('Little used: below 30 % utilisation.');
  });

  it('says why something is not known, and never writes 0 for it', () => {
    const unknown = [
      EMPTY.spend.total,
      EMPTY.spend.before,
      EMPTY.spend.gpuHours,
      EMPTY.bridge.known,
      EMPTY.utilisation.known,
      EMPTY.billVariance.known,
      EMPTY.optimum.known,
      EMPTY.forecast.known,
    ];
    expect(unknown).toEqual(unknown.map(() => null));
    const notes = documentOf(EMPTY, new Texts('en'))
      .flatMap(({ notes: all }) => all)
      .join(' ');
    for (const words of [
      'Nothing is recorded for the month before.',
      'no GPU samples',
      'No bill of this month',
      'Nothing was metered',
    ])
      expect(notes).toContain(words);
  });
});

describe('the table', () => {
  it('is RFC 4180, a row per figure, and no name in it is a formula', async () => {
    const csv = await textOf(REPORT, 'csv');
    expect(csv.split('\r\n').at(-1)).toBe('');
    const rows = readCsv(csv);
    for (const row of rows) {
      expect(Object.keys(row)).toEqual(['section', 'table', 'item', 'measure', 'value', 'unit', 'note']);
      for (const [name, value] of Object.entries(row))
        if (/^[=+\-@\t\r]/.test(value ?? ''))
          expect({ name, isNumber: /^-\d+(\.\d+)?$/.test(value ?? '') }).toEqual({ name: 'value', isNumber: true });
    }
    expect(rows.some(({ item }) => item?.startsWith(`'=HYPERLINK("http://x","y")`) === true)).toBe(true);
    expect(rows.some(({ item }) => item?.startsWith("'-2+3 GPUs") === true)).toBe(true);
  });
});

describe('the booklet', () => {
  it.each([
    ['en', REPORT],
    ['zh', REPORT],
    ['en', EMPTY],
  ] as const)('has its fonts in it, numbered pages, and no text over another (%s)', async (language, report) => {
    const pdf = new Pdf(await bytesOf(report, 'pdf', language));
    expect(pdf.fonts.length).toBeGreaterThan(0);
    for (const font of pdf.fonts)
      expect({ name: font.name, isEmbedded: font.isEmbedded }).toEqual({
        name: expect.stringMatching(/^[A-Z]{6}\+/) as string,
        isEmbedded: true,
      });
    const feet = pdf.texts.filter(({ y }) => y > 795).map(({ text }) => text.trim());
    for (let page = 1; page <= pdf.pages; page++) {
      const foot = feet.filter((_, at) => pdf.texts.filter(({ y }) => y > 795)[at]?.page === page).join(' ');
      expect(
        foot
          .replaceAll(/[^\d ]/g, ' ')
          .trim()
          .split(/ +/)
          .map(Number),
      ).toEqual([page, pdf.pages]);
    }
    expect(overlapping(pdf.texts)).toEqual([]);
    for (const { x, y, width, text } of pdf.texts)
      if (text.trim() !== '')
        expect({ text, inside: x >= 39 && x + width <= 559 && y > 30 && y < 836 }).toEqual({ text, inside: true });
    expect(pdf.texts.map(({ text }) => text).join('')).not.toMatch(/undefined|NaN|\ufffd/);
  });

  it('names on its first page what the total lacks', async () => {
    const { spend } = REPORT;
    const unpriced = {
      provider: 'P',
      sku: 'vol',
      component: 'storage',
      reason: 'no-component',
      quantity: '5',
      hours: 1,
    } as const;
    const report = {
      ...REPORT,
      spend: { ...spend, setAside: [{ currency: 'USD', amount: '1440.00' }], unpriced: [unpriced] },
    };
    const pdf = new Pdf(await bytesOf(report, 'pdf'));
    const first = pdf.texts.flatMap(({ page, text }) => (page === 1 ? [text.trim()] : [])).join(' ');
    for (const said of [
      /Without an exchange rate, not included: .*12\.50/,
      /Charged by bills that are not final, counted as metered: .*1,440\.00/,
      /Other kinds of usage without a price, not included: 1/,
    ])
      expect(first).toMatch(said);
  });

  it.each([
    ['en', REPORT],
    ['zh', REPORT],
    ['en', EMPTY],
  ] as const)('is tagged: all that is drawn is in the tree or an artifact (%s)', async (language, report) => {
    const pdf = new Pdf(await bytesOf(report, 'pdf', language));
    const catalogue = [...pdf.objects.values()].find(({ text }) => text.includes('/Type /Catalog'))?.text ?? '';
    expect(catalogue).toContain(`/Lang (${language === 'en' ? 'en' : 'zh-CN'})`);
    expect(catalogue).toMatch(/\/StructTreeRoot \d+ 0 R/);
    const all = [...pdf.objects.values()].map(({ text }) => text);
    expect(all.some((text) => text.includes('/Marked true'))).toBe(true);
    expect(all.some((text) => text.includes('/DisplayDocTitle true'))).toBe(true);
    const flat = (elements: readonly PdfElement[]): PdfElement[] =>
      elements.flatMap((one) => [one, ...flat(one.elements)]);
    const [root, ...more] = pdf.structure();
    expect([root?.type, more]).toEqual(['Document', []]);
    const elements = flat(pdf.structure());
    const held = elements.flatMap(({ marks }) => marks.map(({ page, mark }) => `${page} ${mark}`));
    expect(new Set(held).size).toBe(held.length);
    for (const { page, text, mark } of pdf.texts)
      expect({ text, isHeld: mark === 'Artifact' || held.includes(`${page} ${mark}`) }).toEqual({ text, isHeld: true });
    const types = elements.map(({ type }) => type);
    expect(types.filter((type) => /^H\d$/.test(type)).slice(0, 3)).toEqual(['H1', 'H2', 'H2']);
    for (const { type, alt } of elements) expect(type === 'Figure' && alt === null).toBe(false);
    expect(types.includes('Figure')).toBe(report === REPORT);
    for (const table of elements.filter(({ type }) => type === 'Table')) {
      const [caption, head, ...rows] = table.elements;
      expect([caption?.type, head?.type, rows.length > 0]).toEqual(['Caption', 'TR', true]);
      expect(head?.elements.every(({ type, scope }) => type === 'TH' && scope === 'Column')).toBe(true);
      for (const row of rows) expect(row.elements[0]).toMatchObject({ type: 'TH', scope: 'Row' });
    }
  });

  it('states its title in metadata that are XML, whatever the team is called', async () => {
    const pdf = new Pdf(await bytesOf(REPORT, 'pdf'));
    const metadata = [...pdf.objects.values()].find(({ text }) => text.includes('/Type /Metadata'))?.stream;
    const xml = metadata?.toString('utf8') ?? '';
    expect(xml).toContain('&lt;script&gt;alert("1")&lt;/script&gt; &amp; 红队');
    expect(xml).toContain('<pdfuaid:part>1</pdfuaid:part>');
  });

  it.each([
    ['en', 'the first 3 days of it have cost $1,377.70', 'Spent in its first 3 days', 'have cost $1,377.70.'],
    ['zh', '下月前 3 天已支出', '其前 3 天已支出', '为月末时的预测；其前 3 天已支出'],
  ] as const)('says beside a forecast what has come of it since (%s)', async (language, sentence, row, tile) => {
    const { before } = factsOf();
    const report = reportOf({ after: { ...before, first: '2026-11-01', last: '2026-11-03' } });
    const plain = (texts: readonly string[]): string => texts.join(' ').replaceAll(/\s+/g, '');
    const pdf = new Pdf(await bytesOf(report, 'pdf', language));
    const first = plain(pdf.texts.flatMap(({ page, text }) => (page === 1 ? [text] : [])));
    for (const said of [sentence, tile]) expect(first).toContain(plain([said]));
    expect(await textOf(report, 'html', language)).toContain(row);
  });

  it('says it all on page one, then answers what a CFO asks, in that order, and has its tables at the end', async () => {
    const pdf = new Pdf(await bytesOf(REPORT, 'pdf'));
    const first = pdf.texts.flatMap(({ page, text }) => (page === 1 ? [text.trim()] : [])).join(' ');
    for (const said of [
      'The month cost $1,683.37, $305.67 (22.2%) more than the month before:',
      'Actions saved $300.00: closed bills confirm $100.00, and metered usage shows $200.00',
      'estimated, not measured yet: $1.00 a month (-$0.50 to $2.50).',
      'Next month is forecast at ',
      'the open recommendations that certainly save (1) add up to at least $400.00 a month (estimate $900.00, at most $1,100.00).',
      'GPU-hours without a price, not included: 12',
    ])
      expect(first.replaceAll(/ +/g, ' ')).toContain(said);
    // Below the picture of what changed are the days, once.
    const days = pdf.texts.flatMap(({ page, text }) =>
      text.trim() === 'Spend of the month, day by day, against the budget' ? [page] : [],
    );
    expect(days).toEqual([1]);
    const headings = [
      'What was spent, and why',
      'What was saved, and how certain that is',
      'What comes',
      'What to decide',
      'Appendix: the tables',
      'In short',
    ].map((title) => pdf.texts.findIndex(({ text }) => text.trim() === title));
    expect(headings).toEqual(headings.toSorted((a, b) => a - b));
    expect(headings[0]).toBeGreaterThan(-1);
    const pages = headings.map((at) => pdf.texts[at]?.page ?? 0);
    expect(pages[0]).toBeGreaterThan(1);
  });

  it.each([
    [
      'en',
      'Until Oct 20, 2026, 12:00 PM the month has cost $1,683.37, $305.67 (22.2%) more than the same days of the month before (Sep 1, 2026 to Sep 20, 2026):',
      'against the same days of the month before',
      'From the same days of the month before to this month so far',
      'The month is not over: it is compared with the same days of the month before (Sep 1, 2026 to Sep 20, 2026). The day of today is not complete.',
    ],
    [
      'zh',
      '比上月同期（2026年9月1日 至 2026年9月20日）多',
      '较上月同期',
      '从上月同期到本月至今',
      '本月尚未结束：与上月同期（2026年9月1日 至 2026年9月20日）比较。今天的数据尚不完整。',
    ],
  ] as const)('compares a month that runs with the same days, and says so (%s)', async (language, ...said) => {
    const running = reportOf({
      asOf: Date.UTC(2026, 9, 20, 12),
      comparedDays: { first: '2026-09-01', last: '2026-09-20' },
    });
    const pdf = new Pdf(await bytesOf(running, 'pdf', language));
    const plain = (texts: readonly string[]): string => texts.join(' ').replaceAll(/\s+/g, '');
    const first = plain(pdf.texts.flatMap(({ page, text }) => (page === 1 ? [text] : [])));
    for (const words of said) expect(first).toContain(plain([words]));
    const html = await textOf(running, 'html', language);
    for (const words of [said[0], ...said.slice(2)]) expect(html).toContain(words);
    // Neither the whole month nor "this month" is the name of what is compared.
    const named = html.replaceAll(/<svg.*?<\/svg>/gs, '').match(/>(Month before|This month|上月|本月)</g);
    expect(named).toBeNull();
    expect(html).not.toMatch(/whole previous month|上月全月/);
  });

  it('has four tiles in one type, in which each figure stands on one line', async () => {
    const of = async (report: Report): Promise<number[]> => {
      const pdf = new Pdf(await bytesOf(report, 'pdf'));
      const figures = pdf.texts.filter(
        ({ page, size, text }) => page === 1 && size > 8 && /^\$[\d,]+\.\d\d\s*$/.test(text),
      );
      return figures.map(({ size }) => size);
    };
    const wide = reportOf({ chances: [] });
    const decisions = {
      sure: {
        count: 1,
        monthly: [{ currency: 'USD', amount: '98877766.55' }],
        monthlyLow: [{ currency: 'USD', amount: '88877766.55' }],
        monthlyHigh: [{ currency: 'USD', amount: '99977766.55' }],
      },
      unsure: 0,
      unknown: 0,
    };
    for (const report of [REPORT, { ...wide, decisions }]) {
      const sizes = await of(report);
      expect(sizes).toHaveLength(4);
      expect(new Set(sizes).size).toBe(1);
    }
    expect((await of({ ...wide, decisions }))[0]).toBeLessThan((await of(REPORT))[0] ?? 0);
  });

  it('orders what to decide by the low end, and leaves out what may cost more than it saves', async () => {
    const chance = (recommendation: string, low: string | null, mean: bigint): ReportFacts['chances'][number] => ({
      recommendation,
      team: 'red',
      title: recommendation,
      policy: 'idle-stop',
      state: 'open',
      estimate: { mean: mean * 1_000_000_000n, low, high: low === null ? null : '9999.00' },
      estimatedMonthlyCost: null,
      currency: 'USD',
      effort: 'Low',
      obstacle: null,
    });
    const report = reportOf({
      chances: [
        chance('surely-little', '1.00', 5000n),
        chance('perhaps-much', '-1.00', 9000n),
        chance('surely-much', '700.00', 800n),
        chance('nobody-knows', null, 100n),
      ],
    });
    const pdf = new Pdf(await bytesOf(report, 'pdf'));
    const at = (title: string): number => pdf.texts.findIndex(({ text }) => text.trim() === title);
    const body = pdf.texts.slice(at('What to decide'), at('Appendix: the tables')).map(({ text }) => text.trim());
    expect(body.filter((text) => /^(surely|perhaps|nobody)-/.test(text))).toEqual(['surely-much', 'surely-little']);
    expect(body.join(' ').replaceAll(/ +/g, ' ')).toContain(
      'Not among them; all are in the appendix: 1 more may cost more than they save. The saving of 1 more is unknown.',
    );
    expect(report.decisions).toMatchObject({ sure: { count: 2 }, unsure: 1, unknown: 1 });
  });

  it('says what it does not know, on page one too', async () => {
    const pdf = new Pdf(await bytesOf(EMPTY, 'pdf'));
    const first = pdf.texts.flatMap(({ page, text }) => (page === 1 ? [text.trim()] : [])).join(' ');
    for (const said of [
      'Nothing is recorded for this month.',
      'No saving of this month has been measured or verified.',
      'The coming costs are unknown; no recommendation waits for a decision.',
      'Nothing is recorded for the month before.',
    ])
      expect(first.replaceAll(/ +/g, ' ')).toContain(said);
    expect(pdf.texts.map(({ text }) => text).join(' ')).not.toMatch(/Spend \$0/);
  });

  it('writes Chinese, names too', async () => {
    const [english, chinese] = [new Pdf(await bytesOf(REPORT, 'pdf')), new Pdf(await bytesOf(REPORT, 'pdf', 'zh'))].map(
      (pdf) => pdf.texts.map(({ text }) => text).join(''),
    );
    expect(chinese).toContain('节省报告');
    expect(chinese).toContain('支出与预算');
    expect(english).toContain('红队');
  });

  it('goes over pages with a head on each, however long the names', async () => {
    const chances = Array.from({ length: 49 }, (_, at) => ({
      recommendation: `rec-${at}`,
      team: 'red',
      title: `${'W'.repeat(300)} ${at}`,
      policy: 'idle-stop',
      state: 'open' as const,
      estimate: { mean: 10n ** 18n, low: null, high: null },
      estimatedMonthlyCost: '1234567890.50',
      currency: 'USD',
      effort: 'Low',
      obstacle: null,
    }));
    const pdf = new Pdf(await bytesOf(reportOf({ chances }), 'pdf'));
    expect(overlapping(pdf.texts)).toEqual([]);
    const heads = pdf.texts.filter(({ text }) => text === 'Recommendation');
    expect(new Set(heads.map(({ page }) => page)).size).toBeGreaterThan(3);
  });

  it('is the same bytes again', async () => {
    expect(Buffer.from(await bytesOf(REPORT, 'pdf')).equals(Buffer.from(await bytesOf(REPORT, 'pdf')))).toBe(true);
    expect(await textOf(REPORT, 'html')).toBe(await textOf(REPORT, 'html'));
  });
});

describe('the picture', () => {
  it('is a PNG where there is something to draw', async () => {
    const png = Buffer.from((await mainPicture(REPORT)) ?? []);
    expect([...png.subarray(0, 8)]).toEqual([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    expect(png.readUInt32BE(16)).toBe(2 * 760);
    expect(await mainPicture(EMPTY)).toBeNull();
  });

  it.each([
    ['en', 'There was no budget in this month.', 'Spend of the month, day by day', 'against the budget'],
    ['zh', '本月没有预算。', '本月逐日累计支出', '支出与预算</text>'],
  ] as const)('names no budget where there was none, and the report says so (%s)', async (language, ...said) => {
    const [note, title, budget] = said;
    const report = reportOf({ budgets: [] });
    const { charts, chapters, sections } = write(report, readerOf(language));
    expect(charts.title('spend')).toBe(title);
    expect(charts.main()).not.toContain(budget);
    expect(write(REPORT, readerOf(language)).charts.title('spend')).not.toBe(title);
    for (const id of ['spent', 'budgets'])
      expect([...chapters, ...sections].find((one) => one.id === id)?.notes).toContain(note);
    expect(await textOf(report, 'html', language)).toContain(note);
    expect(await textOf(REPORT, 'html', language)).not.toContain(note);
  });

  it('for messages says what it shows, of whom and when, and has every day of the month', () => {
    const { spend } = REPORT;
    const gappy = { ...REPORT, spend: { ...spend, byDay: spend.byDay.slice(3, 20) } };
    const { charts } = write(gappy, readerOf('en'));
    const words = (svg: string | null): string[] =>
      [...(svg ?? '').matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text = '']) =>
        text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
      );
    const [alone, inside] = [words(charts.main()), words(charts.svg('spend'))];
    const title = [`${REPORT.teamName}, October 2026`, 'Spend of the month, day by day, against the budget'];
    expect(alone).toEqual(expect.arrayContaining(title));
    expect(inside).not.toEqual(expect.arrayContaining(title.slice(0, 1)));
    const days = Array.from({ length: 31 }, (_, at) => String(at + 1));
    for (const all of [alone, inside]) expect(all.filter((text) => days.includes(text))).toEqual(days);
  });
});

describe('the words', () => {
  it('are there in both languages, with the same blanks to fill', () => {
    for (const days of [null, 'Oct 1 to Oct 23'])
      for (const key of TEXT_KEYS) {
        const [english, chinese] = [new Texts('en', days), new Texts('zh', days)];
        const blanks = [english, chinese].map((texts) =>
          [...texts.text(key).matchAll(/\{\w+\}/g)].map(([blank]) => blank).sort(),
        );
        expect({ key, blanks: blanks[1], isSame: english.text(key) === chinese.text(key) }).toEqual({
          key,
          blanks: blanks[0],
          isSame: false,
        });
      }
  });
});
