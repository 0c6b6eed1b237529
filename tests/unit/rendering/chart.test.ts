/**
 * Charts on the server: sound XML, the same every time, words for those who do not see them, and letters that are
 * really drawn.
 */
import { Resvg } from '@resvg/resvg-js';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { OKABE_ITO, renderPng, renderSvg, shortened, textWidth, wrapped } from '../../../src/rendering/chart.js';
import { chineseFont, fontFiles, LATIN_FONTS, sfntOf } from '../../../src/rendering/fonts.js';
import { decodePng } from '../../support/png.js';

const bars = (title = 'Cost'): string =>
  renderSvg(
    {
      xAxis: { type: 'category', data: ['a', 'b'] },
      yAxis: {},
      series: [{ type: 'bar', data: [1, 2], itemStyle: { color: OKABE_ITO.blue } }],
    },
    { width: 300, height: 200, title, description: 'Two bars: a 1, b 2.' },
  );

describe('SVG', () => {
  it('is sound XML of the size that was asked for', () => {
    const { width, height } = new Resvg(bars());
    expect([width, height]).toEqual([300, 200]);
    expect(() => new Resvg(`${bars()}<`)).toThrow();
  });

  it('is the same every time, and shares no id with another chart', () => {
    const ids = (svg: string): string[] => [...svg.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id ?? '');
    const line = (last: number): string =>
      renderSvg(
        {
          xAxis: { type: 'value' },
          yAxis: {},
          series: [
            {
              type: 'line',
              clip: true,
              data: [
                [0, 1],
                [1, last],
              ],
            },
          ],
        },
        { width: 300, height: 200 },
      );
    expect(line(3)).toBe(line(3));
    expect(bars()).toBe(bars());
    expect(ids(line(3)).length).toBeGreaterThan(0);
    expect(ids(line(3)).filter((id) => ids(line(4)).includes(id))).toEqual([]);
    for (const [, used] of line(3).matchAll(/url\(#([^)]+)\)/g)) expect(ids(line(3))).toContain(used);
  });

  it('says what it shows, whatever is in the words', () => {
    expect(bars()).toMatch(
      /^<svg role="img" aria-label="Cost" [^>]*>\n<title>Cost<\/title><desc>Two bars: a 1, b 2\.<\/desc>/,
    );
    const hostile = bars('a & b <script>"\u0000\u001b');
    expect(hostile).toContain('<title>a &amp; b &lt;script&gt;&quot;</title>');
    expect(() => new Resvg(hostile)).not.toThrow();
  });
});

describe('PNG', () => {
  it('has the bars in their colour on white, twice as dense', async () => {
    const png = decodePng(await renderPng(bars()));
    expect([png.width, png.height]).toEqual([600, 400]);
    expect(png.at(1, 1)).toEqual([255, 255, 255]);
    expect(png.count([0x00, 0x72, 0xb2])).toBeGreaterThan(5000);
  });

  it('draws letters of both languages with the fonts of the packages alone', async () => {
    const inked = async (text: string): Promise<number> => {
      const png = decodePng(
        await renderPng(
          `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40"><text x="4" y="28" font-size="24" font-family="DejaVu Sans, Noto Sans SC">${text}</text></svg>`,
          1,
        ),
      );
      return png.width * png.height - png.count([255, 255, 255]);
    };
    expect(await inked('')).toBe(0);
    expect(await inked('Cost €')).toBeGreaterThan(300);
    expect(await inked('节省报告')).toBeGreaterThan(800);
    // A box for a letter that is not there looks the same for every one.
    expect(await inked('节')).not.toBe(await inked('省'));
  });
});

describe('the Chinese font', () => {
  const woff = readFileSync(
    createRequire(import.meta.url).resolve(
      '@fontsource/noto-sans-sc/files/noto-sans-sc-chinese-simplified-400-normal.woff',
    ),
  );

  it('is unpacked to sound tables: each has the checksum that its entry states', () => {
    const sfnt = sfntOf(woff);
    const count = sfnt.readUInt16BE(4);
    expect(count).toBe(woff.readUInt16BE(12));
    expect(sfnt.length).toBe(woff.readUInt32BE(16));
    for (let n = 0; n < count; n++) {
      const entry = sfnt.subarray(12 + 16 * n, 28 + 16 * n);
      const [tag, stated, offset, length] = [
        entry.toString('latin1', 0, 4),
        entry.readUInt32BE(4),
        entry.readUInt32BE(8),
        entry.readUInt32BE(12),
      ];
      let sum = 0;
      // OpenType, "Calculating checksums": of `head` without its own adjustment.
      for (let at = offset; at < offset + length; at += 4)
        sum = (sum + (tag === 'head' && at === offset + 8 ? 0 : sfnt.readUInt32BE(at))) >>> 0;
      expect(sum, tag).toBe(stated);
    }
  });

  it('is made once, and only where a text needs it', () => {
    expect(fontFiles('Cost, über, €')).toEqual([LATIN_FONTS.regular, LATIN_FONTS.bold]);
    expect(fontFiles('节')).toHaveLength(4);
    expect(chineseFont('regular')).toBe(chineseFont('regular'));
  });

  it('refuses what is no WOFF', () => {
    expect(() => sfntOf(Buffer.from('wOF2'.padEnd(60, '\u0000')))).toThrow('not a WOFF file');
    expect(() => sfntOf(Buffer.alloc(3))).toThrow('not a WOFF file');
  });
});

describe('lines of text', () => {
  it('are broken at spaces, and within a word that is too long', () => {
    expect(wrapped('one two three', textWidth('one two', 12), 12)).toEqual(['one two', 'three']);
    const lines = wrapped('x'.repeat(40), 100, 12);
    expect(lines.join('')).toBe('x'.repeat(40));
    for (const line of lines) expect(textWidth(line, 12)).toBeLessThanOrEqual(100);
    expect(wrapped('', 100, 12)).toEqual([]);
  });

  it('are shortened only where they must be', () => {
    expect(shortened('short', 100, 12)).toBe('short');
    const cut = shortened('a-very-long-name-of-a-zone', 100, 12);
    expect(cut).toMatch(/^a-very.*…$/);
    expect(textWidth(cut, 12)).toBeLessThanOrEqual(100);
  });
});
